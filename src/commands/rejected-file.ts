import { closeSync, lstatSync, openSync, renameSync, writeFileSync } from 'node:fs';
import type { SentPart } from './send-list.ts';

/**
 * The records that were refused, as they were, behind the line of names, and with their ids in front if the import has
 * numbered them. The file is created at the first refusal. An earlier one, which may have been corrected since, becomes
 * `.old` then, or `.old.2` and so on.
 *
 * @throws Error if it cannot be written
 */
export function rejectedFile(path: string, isNumbered: boolean) {
  let file: number | undefined;
  let names: string | undefined;

  function write(text: string): void {
    if (file === undefined) {
      if (exists(path)) renameSync(path, freeName(`${path}.old`));
      // Exclusively, so that no link is followed and nothing is overwritten.
      file = openSync(path, 'wx');
      write(names ?? '');
    }
    writeFileSync(file, text, 'latin1');
  }

  return {
    add({ bytes, refused, separator }: SentPart): void {
      const lines = bytes.toString('latin1').split(/(?<=\n)/);
      if (separator !== undefined && names === undefined) {
        const first = lines.find((line) => /\w/.test(line)) ?? '';
        // Behind a byte order mark, as latin1 shows it.
        names = isNumbered ? first.replace(/^(\xef\xbb\xbf)?/, `$&id${separator}`) : first;
      }
      for (const { line, lastLine, id } of refused) {
        const record = lines.slice(line - 1, lastLine).join('');
        write((isNumbered ? withId(record, id, separator) : record).replace(/\n?$/, '\n'));
      }
    },
    close(): void {
      if (file !== undefined) closeSync(file);
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

/** Only an object of JSON can have an id, and an id beyond int64 is none. */
function withId(record: string, id: bigint | undefined, separator: string | undefined): string {
  if (separator !== undefined) return `${id ?? ''}${separator}${record}`;
  if (id === undefined) return record;
  return record.replace(/^([^"[{]*\{)(\s*\})?/, (_, start, end = ',') => `${start}"id":${id}${end}`);
}
