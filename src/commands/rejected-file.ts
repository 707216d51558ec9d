import { closeSync, lstatSync, openSync, renameSync, writeFileSync } from 'node:fs';
import type { SentPart } from './send-list.ts';

/** Bytes of each record that an error shows. */
const SHOWN = 1024 ** 2;

const END_OF_OBJECT = 0x7d;

/**
 * The records that were refused, as they were, behind the line of names, and with their ids in front if the import has
 * numbered them. The file is created at the first refusal. An earlier one, which may have been corrected since, becomes
 * `.old` then, or `.old.2` and so on. A record may be larger than the longest string.
 */
export function rejectedFile(path: string, isNumbered: boolean) {
  let file: number | undefined;
  let names: Buffer | undefined;

  function open(): number {
    if (exists(path)) renameSync(path, freeName(`${path}.old`));
    // Exclusively, so that no link is followed and nothing is overwritten.
    return openSync(path, 'wx');
  }

  return {
    /** @throws Error if they cannot be written; it shows them */
    add({ bytes, refused, separator }: SentPart): void {
      const lines = linesIn(bytes);
      if (separator !== undefined) names ??= namesIn(lines, isNumbered ? `id${separator}` : '');
      if (refused.length === 0) return;
      const isFirst = file === undefined;
      const pieces = refused.flatMap(({ line, lastLine, id }) => {
        const record = lines.slice(line - 1, lastLine);
        return isNumbered ? withId(record, id, separator) : record;
      });
      if (isFirst && names !== undefined) pieces.unshift(names);
      try {
        file ??= open();
        for (const piece of pieces) writeFileSync(file, piece);
      } catch (error) {
        const text = pieces.map((piece) => piece.toString('utf8', 0, SHOWN)).join('');
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

/** With their ends. */
function linesIn(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = bytes.indexOf('\n', start) + 1;
    lines.push(bytes.subarray(start, end));
  }
  return lines;
}

/** The line that names the columns, with another in front, but behind a byte order mark, as latin1 shows it. */
function namesIn(lines: readonly Buffer[], another: string): Buffer {
  const texts = lines.values().map((line) => line.toString('latin1'));
  const names = texts.find((text) => /\w/.test(text)) ?? '';
  return Buffer.from(names.replace(/^(\xef\xbb\xbf)?/, `$&${another}`), 'latin1');
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
function withId(record: readonly Buffer[], id: bigint | undefined, separator: string | undefined): readonly Buffer[] {
  if (separator !== undefined) return [Buffer.from(`${id ?? ''}${separator}`), ...record];
  const [line = Buffer.alloc(0)] = record;
  const start = line.indexOf('{') + 1;
  const before = line.subarray(0, start);
  if (id === undefined || start === 0 || before.includes('"') || before.includes('[')) return record;
  const behind = line.subarray(start);
  const isEmpty = behind.find((byte) => byte > 0x20) === END_OF_OBJECT;
  return [before, Buffer.from(`"id":${id}${isEmpty ? '' : ','}`), behind];
}
