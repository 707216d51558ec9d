import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../tooling/session.ts';
import { samplePlants } from './sample-plants.ts';

type Format = 'csv' | 'ndjson';

/**
 * Writes a list of plants with scattered ids, each its own, and removes it with the session.
 *
 * @param seed lists with other ones have other ids
 */
export async function writeList(
  format: Format,
  count: number,
  { folder, signal }: Session,
  seed = 0n,
): Promise<string> {
  const rests = samplePlants().map((plant) =>
    format === 'csv' ? `,${plant.name},${plant.tag ?? ''}\n` : `,${JSON.stringify(plant).slice(1)}\n`,
  );
  const path = join(folder, `${count}-${seed}.${format}`);
  const file = createWriteStream(path, { signal });
  if (format === 'csv') file.write('id,name,tag\n');
  // Knuth's MMIX generator: it comes to every 64-bit number once.
  let state = seed;
  const LINES_AT_ONCE = 10_000;
  for (let written = 0; written < count; ) {
    let text = '';
    for (const end = Math.min(written + LINES_AT_ONCE, count); written < end; written++) {
      state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
      text += `${format === 'csv' ? '' : '{"id":'}${BigInt.asIntN(64, state)}${rests[written % rests.length]}`;
    }
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return path;
}
