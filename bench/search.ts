import { plantStore, startServer } from '../tooling/server-process.ts';
import { createDatabase, findPostgres } from '../tooling/session-database.ts';
import { atLeast, atMost } from './harness/claims.ts';
import { addScatteredPlants } from './harness/plants.ts';
import { inRounds, timed } from './harness/rounds.ts';
import { scenario } from './harness/scenario.ts';
import { firstPage, NOWHERE, type Page, searchPage } from './harness/searchers.ts';
import { stream } from './harness/streams.ts';

/*
 * npm run bench -- search [--plants 1000000] [--rounds 5] [--added 10000000]
 *
 * Plants found by a part of their name, in a table of a million: the first page of a word that one name in sixteen has,
 * and all pages of a word that none has. At last, a stream that finds nothing, once ten million more are in the table.
 */

const FREQUENT = 'rosa';

await scenario('search', { plants: 1_000_000, rounds: 5, added: 10_000_000 }, async (session, options) => {
  const { plants, rounds, added } = options;
  const { signal } = session;
  const database = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database.url, session);
  await addScatteredPlants(database, plants);

  /** @returns the milliseconds that each page of a search for what is nowhere took */
  async function walk(): Promise<number[]> {
    const times: number[] = [];
    for (let url: string | undefined = firstPage(server, NOWHERE); url !== undefined; ) {
      const page: Page = await searchPage(url, signal);
      if (page.status !== 200 || page.plants > 0) throw new Error(`a search got ${page.status}, ${page.plants} plants`);
      times.push(page.ms);
      url = page.next;
    }
    return times;
  }
  async function first(): Promise<number> {
    const { status, ms, plants } = await searchPage(firstPage(server, FREQUENT), signal);
    if (status !== 200 || plants === 0) throw new Error(`a search got ${status} and ${plants} plants`);
    return ms;
  }

  await walk();
  const found = await inRounds(rounds, 'searches, ms', async () => {
    let frequent = 0;
    for (let n = 0; n < 10; n++) frequent = Math.max(frequent, await first());
    const times = await walk();
    return { frequent, longest: Math.max(...times), all: times.reduce((sum, ms) => sum + ms) };
  });
  await addScatteredPlants(database, added);
  const stored = await database.countPlants();
  const took = await timed(() => stream(server, `?name=${NOWHERE}`));
  const claims = [
    atMost(
      100,
      'the first 100 plants with a word of one name in sixteen, the longest of ten times: ms',
      found.frequent,
    ),
    atMost(1_500, 'a word that is nowhere: the longest page, ms', found.longest),
    atMost(
      15,
      'the same: all pages, s',
      found.all.map((ms) => ms / 1_000),
    ),
    atLeast(100_000, 'a stream of a word that is nowhere, 10,000,000 plants more: names a second', [stored / took]),
  ];
  return { database, claims };
});
