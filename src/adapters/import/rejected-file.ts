import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Entry } from './entry.ts';

/** Where refused entries are kept, for people to mend and import again. */
export interface RejectedFile {
  /** Writes a line of JSON, at once: what was refused is known even if this process is killed. */
  add(entry: Entry, reason: PlantStoreError): void;
  close(): void;
}

/** Removes what an earlier import has left at the path; the file is made when something is refused. */
export function rejectedFile(path: string): RejectedFile {
  // Not a device such as /dev/stderr.
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) rmSync(path);
  let file: number | undefined;
  return {
    add({ line, bytes }, reason) {
      const outcome = reason.code === 'id_taken' ? 'conflicting' : 'invalid';
      file ??= openSync(path, 'w');
      writeSync(file, `${JSON.stringify({ line, outcome, reason: reason.message, text: bytes.toString() })}\n`);
    },
    close() {
      if (file !== undefined) closeSync(file);
    },
  };
}
