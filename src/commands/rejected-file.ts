import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import type { SentPart } from './send-list.ts';

/**
 * The records that were refused, as they were, behind the line of names, and with their ids in front if the import has
 * numbered them. It replaces that of an earlier import, and stays only if something was refused.
 *
 * @throws Error if it cannot be written
 */
export function rejectedFile(path: string, isNumbered: boolean) {
  rmSync(path, { force: true });
  // Exclusively, so that nothing is overwritten.
  const file = openSync(path, 'wx');
  const write = (text: string) => writeSync(file, text, null, 'latin1');
  let hasNames = false;
  let hasRecords = false;

  return {
    add({ bytes, refused, separator }: SentPart): void {
      const lines = bytes.toString('latin1').split(/(?<=\n)/);
      if (separator !== undefined && !hasNames) {
        const names = lines.find((line) => /\w/.test(line)) ?? '';
        // Behind a byte order mark, as latin1 shows it.
        write(isNumbered ? names.replace(/^(\xef\xbb\xbf)?/, `$&id${separator}`) : names);
        hasNames = true;
      }
      for (const { line, lastLine, id } of refused) {
        const record = lines.slice(line - 1, lastLine).join('');
        write((isNumbered ? withId(record, id, separator) : record).replace(/\n?$/, '\n'));
        hasRecords = true;
      }
    },
    close(): void {
      closeSync(file);
      if (!hasRecords) rmSync(path);
    },
  };
}

/** Only an object of JSON can have an id, and an id beyond int64 is none. */
function withId(record: string, id: bigint | undefined, separator: string | undefined): string {
  if (separator !== undefined) return `${id ?? ''}${separator}${record}`;
  if (id === undefined) return record;
  return record.replace(/^([^"[{]*\{)(\s*\})?/, (_, start, end = ',') => `${start}"id":${id}${end}`);
}
