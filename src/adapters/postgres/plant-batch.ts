import type { PlantBatch } from '../../application/ports.ts';
import { LARGE, type PlantLines } from './plant-statements.ts';

/** The lines until the first large plant, and at most so many. @param to the last id of the range */
export function batchOf({ lines: all, count: found, reached }: PlantLines, most: number, to: bigint): PlantBatch {
  const scanned = reached === null || BigInt(reached) === to ? undefined : BigInt(reached);
  if (all === null) return { lines: '', count: 0, lastId: scanned, isLast: scanned === undefined };
  // JSON has no line feeds but those between the records.
  const large = all.startsWith(LARGE) ? 0 : all.indexOf(`\n${LARGE}`);
  const end = large >= 0 || found <= most ? large : all.lastIndexOf('\n');
  const lines = end < 0 ? all : all.slice(0, end);
  return {
    // Only when they are wanted: by then Postgres works on the next batch.
    get lines() {
      // Quotation marks within a text are escaped, so this cannot be a part of one.
      return lines.replaceAll(',"tag":null}', '}');
    },
    count: large < 0 ? Math.min(found, most) : countLines(lines),
    lastId: end < 0 && scanned !== undefined ? scanned : lastIdOf(lines),
    isLast: end < 0 && scanned === undefined,
  };
}

function countLines(lines: string): number {
  return lines === '' ? 0 : lines.split('\n').length;
}

const ID = /^\{"id":(-?\d+)/;

/** The id in the last line; undefined if there is none. */
export function lastIdOf(lines: string): bigint | undefined {
  const id = ID.exec(lines.slice(lines.lastIndexOf('\n') + 1))?.[1];
  return id === undefined ? undefined : BigInt(id);
}
