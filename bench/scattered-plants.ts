import { randomInt } from 'node:crypto';
import { number } from '../tooling/markdown-table.ts';
import type { BenchDatabase } from '../tooling/session-database.ts';
import { samplePlants } from './sample-plants.ts';

/** Puts plants with random ids into the table: those of plants.txt, as many of each. */
export async function addScatteredPlants({ query }: BenchDatabase, total: number): Promise<void> {
  const plants = samplePlants();
  const names = plants.map(({ name }) => name);
  const tags = plants.map(({ tag }) => tag ?? null);
  const seed = randomInt(2 ** 47);
  const CHUNK = 500_000;
  for (let from = 1; from <= total; from += CHUNK) {
    // A hash is as scattered as a random number, and every supported Postgres makes 64 bits of it.
    await query(
      `insert into plants (id, name, tag)
       select hashint8extended(n, $3), ($4::text[])[1 + n % $6], ($5::text[])[1 + n % $6]
       from generate_series($1::bigint, $2::bigint) n
       on conflict do nothing`,
      [from, Math.min(from + CHUNK - 1, total), seed, names, tags, plants.length],
    );
    console.error(`${number(Math.min(from + CHUNK - 1, total), 0)} plants are in the table`);
  }
}
