import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { number } from '../../tooling/markdown-table.ts';
import { type Server, TOKEN } from '../../tooling/server-process.ts';
import type { Session } from '../../tooling/session.ts';
import type { BenchDatabase } from '../../tooling/session-database.ts';

/** The plants of plants.txt, which have no ids. */
const lines = readFileSync(join(import.meta.dirname, 'plants.txt'), 'utf8')
  .trimEnd()
  .split('\n');
const samples: { readonly name: string; readonly tag?: string }[] = lines.map((line) => JSON.parse(`{${line}}`));

type Table = Pick<BenchDatabase, 'query'>;

/** Leaves nothing in the table but plants of the ids from 1, with one of a hundred tags each. */
export async function fill({ query }: Table, count: number, name = `'Plant number ' || n`): Promise<void> {
  await query('truncate plants');
  await query(
    `insert into plants (id, name, tag) select n, ${name}, 'tag ' || n % 100 from generate_series(1, $1::bigint) as n`,
    [count],
  );
  await query('vacuum analyze plants');
  await query('checkpoint');
}

/** Puts plants with random ids into the table: those of plants.txt, as many of each. */
export async function addScatteredPlants({ query }: BenchDatabase, total: number): Promise<void> {
  const [names, tags] = [samples.map(({ name }) => name), samples.map(({ tag }) => tag ?? null)];
  const seed = randomInt(2 ** 47);
  const CHUNK = 500_000;
  for (let from = 1; from <= total; from += CHUNK) {
    const end = Math.min(from + CHUNK - 1, total);
    // A hash is as scattered as a random number, and every supported Postgres makes 64 bits of it.
    await query(
      `insert into plants (id, name, tag)
       select hashint8extended(n, $3), ($4::text[])[1 + n % $6], ($5::text[])[1 + n % $6]
       from generate_series($1::bigint, $2::bigint) n
       on conflict do nothing`,
      [from, end, seed, names, tags, samples.length],
    );
    if (total > CHUNK) console.error(`${number(end, 0)} plants are in the table`);
  }
  await query('vacuum analyze plants');
  await query('checkpoint');
}

/** Writes a list of plants with scattered ids, other ones in each list, and removes it with the session. */
export async function writeList(format: 'csv' | 'ndjson', count: number, { folder, signal }: Session): Promise<string> {
  const endings = samples.map((plant) =>
    format === 'csv' ? `,${plant.name},${plant.tag ?? ''}\n` : `,${JSON.stringify(plant).slice(1)}\n`,
  );
  // Knuth's MMIX generator: it comes to every 64-bit number once.
  let state = BigInt(randomInt(2 ** 47));
  const path = join(folder, `${state}.${format}`);
  const file = createWriteStream(path, { signal });
  if (format === 'csv') file.write('id,name,tag\n');
  const LINES_AT_ONCE = 10_000;
  for (let written = 0; written < count; ) {
    let text = '';
    for (const end = Math.min(written + LINES_AT_ONCE, count); written < end; written++) {
      state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
      text += `${format === 'csv' ? '' : '{"id":'}${BigInt.asIntN(64, state)}${endings[written % endings.length]}`;
    }
    if (!file.write(text)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return path;
}

/** Creates a plant. @throws Error, with the response, if that is not a 200 */
export async function createPlant({ url }: Pick<Server, 'url'>, id: number): Promise<void> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ id, name: `Plant number ${id}`, tag: 'tag' });
  const response = await fetch(`${url}/plants`, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`a create got ${response.status}: ${text}`);
}
