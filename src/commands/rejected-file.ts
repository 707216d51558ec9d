import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import type { SentPart } from './send-list.ts';

/**
 * The records that were refused, as they were, behind the line of names, and with their ids in front if the import has
 * numbered them. It replaces an earlier import's, and exists only if something was refused.
 *
 * @throws Error if it cannot be written
 */
export function rejectedFile(path: string, isNumbered: boolean) {
  let [file, names] = [-1, ''];
  rmSync(path, { force: true });
  // Exclusively, so that nothing is overwritten. A trial shows a failure before anything is imported.
  closeSync(openSync(path, 'wx'));
  rmSync(path);

  return {
    add({ bytes, linesBefore, refused, separator }: SentPart): void {
      const text = bytes.toString('latin1');
      const mark = (linesBefore === 0 && /^\xef\xbb\xbf/.exec(text)?.[0]) || '';
      const lines = text.slice(mark.length).split(/(?<=\n)/);
      if (linesBefore === 0 && separator !== undefined) {
        names = `${mark}${isNumbered ? `id${separator}` : ''}${lines.find((line) => line.trim() !== '')}`;
      }
      if (file < 0 && refused.length > 0) {
        file = openSync(path, 'wx');
        writeSync(file, names, null, 'latin1');
      }
      for (const { line, lastLine, id } of refused) {
        const record = lines
          .slice(line - 1, lastLine)
          .join('')
          .replace(/\n?$/, '\n');
        const numbered = separator === undefined ? record.replace('{', `{"id":${id},`) : `${id}${separator}${record}`;
        writeSync(file, isNumbered && id !== undefined ? numbered : record, null, 'latin1');
      }
    },
    close: () => file >= 0 && closeSync(file),
  };
}
