import { setTimeout as sleep } from 'node:timers/promises';
import { number } from '../tooling/markdown-table.ts';
import type { Server } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import { type BenchDatabase, startAfresh } from '../tooling/session-database.ts';
import { writeList } from './import-lists.ts';
import { importInto, startImport } from './import-process.ts';
import { runLoad } from './load.ts';

/** More plants than an import brings in a second, so that no list ends before the creates that it is measured beside. */
const PLANTS_PER_SECOND = 80_000;

/** Seconds after the first plants of an import, until all that were started are at work. */
const LEAD = 2;

/** @returns the throughput of creates at 64 connections beside one import and beside four ÷ alone, in each round */
export async function createsBesideImports(
  server: Server,
  database: BenchDatabase,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  session: Session,
) {
  const lists: string[] = [];
  for (const seed of [1n, 2n, 3n, 4n]) {
    lists.push(await writeList('ndjson', PLANTS_PER_SECOND * (seconds + LEAD), session, seed));
  }

  async function rateBeside(imports: number): Promise<number> {
    await startAfresh(database);
    const running = lists.slice(0, imports).map((list) => startImport(importInto(server), list, session));
    if (imports > 0) {
      while ((await database.countPlants()) === 0) await sleep(50);
      await sleep(LEAD * 1_000);
    }
    const before = await database.countPlants();
    const { answers, seconds: took } = await runLoad(server.url, { connections: 64, seconds, signal: session.signal });
    const imported = (await database.countPlants()) - before - answers;
    if (!running.every(({ isRunning }) => isRunning())) throw new Error('an import ended before the creates');
    await Promise.all(running.map(({ stop }) => stop()));
    console.error(
      `${imports} imports: ${number(answers / took, 0)} creates/s, ${number(imported / took, 0)} imported/s`,
    );
    return answers / took;
  }

  // Until V8 has compiled what is hot.
  await rateBeside(1);
  const [one, four]: [number[], number[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    const alone = await rateBeside(0);
    one.push((await rateBeside(1)) / alone);
    four.push((await rateBeside(4)) / alone);
  }
  return { one, four };
}
