import { closeSync, lstatSync, openSync, renameSync, writeFileSync } from 'node:fs';
import type { Encoding } from '../wire/lists/encoding-finder.js';
import { refusedRecord } from '../wire/lists/parts.js';
import type { Part } from './remote-service.ts';

/** Bytes of each record that an error shows. */
const SHOWN = 1024 ** 2;

const MARK = Buffer.from('\uFEFF');

interface RejectedList {
  readonly encoding: Encoding;
  /** Whether the columns mean what the list's own names say. */
  readonly isNamed: boolean;
}

/**
 * The records that were refused, as they were, behind the line of names. Those of a list in another encoding are in UTF-8.
 * The file is created at the first refusal. An earlier one, which may have been corrected since, becomes `.old` then, or
 * `.old.2` and so on. A record may be larger than the longest string.
 */
export function rejectedFile(path: string, { encoding, isNamed }: RejectedList) {
  let file: number | undefined;
  let names: Uint8Array[] | undefined;

  function open(): number {
    if (exists(path)) renameSync(path, freeName(`${path}.old`));
    // Exclusively, so that no link is followed and nothing is overwritten.
    return openSync(path, 'wx');
  }

  /** The line of names, of the part that has it. */
  function namesIn({ lines, columns = [], separator = '', header = 0 }: Part): Uint8Array[] {
    const isMarked = MARK.equals(lines[0]?.subarray(0, MARK.length) ?? MARK);
    const own = Buffer.from(lines[header - 1] ?? []);
    const line = header === 1 && isMarked ? own.subarray(MARK.length) : own;
    const mark = isMarked || encoding !== 'utf-8' ? [MARK] : [];
    const all = isNamed ? line : Buffer.from(`${columns.join(separator)}\r\n`);
    return [...mark, all];
  }

  return {
    /** @throws Error if they cannot be written; it shows them */
    add(part: Part): void {
      const { refused, separator } = part;
      if (separator !== undefined) names ??= namesIn(part);
      if (refused.length === 0) return;
      const pieces = refused.flatMap((refusal) => refusedRecord(part, refusal));
      if (file === undefined) pieces.unshift(...((names ?? []) as typeof pieces));
      try {
        file ??= open();
        for (const piece of pieces) writeFileSync(file, piece);
      } catch (error) {
        const text = pieces.map((piece) => Buffer.from(piece.subarray(0, SHOWN)).toString()).join('');
        throw new Error(`These refused records cannot be written (${(error as Error).message}):\n${text}`);
      }
    },
    /** @returns whether there are any */
    close(): boolean {
      if (file !== undefined) closeSync(file);
      return file !== undefined;
    },
  };
}

const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The name, or the first of NAME.2, NAME.3 and so on that no file has. */
function freeName(name: string): string {
  for (let n = 2, free = name; ; n++) {
    if (!exists(free)) return free;
    free = `${name}.${n}`;
  }
}
