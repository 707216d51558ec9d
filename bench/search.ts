import { addScatteredPlants } from './harness/plants.ts';
import { firstPage, NOWHERE, type Page, searchPage, stream } from './harness/readers.ts';
import { atLeast, atMost } from './harness/results.ts';
import { inRounds, timed } from './harness/rounds.ts';
import { onDatabase, scenario } from './harness/scenario.ts';

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
  const { database, start } = await onDatabase(session);
  const server = await start();
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
  const found = await inRounds(rounds, 'searches', async () => {
    const firsts: number[] = [];
    while (firsts.length < 10) firsts.push(await first());
    const times = await walk();
    const seconds = times.reduce((sum, ms) => sum + ms) / 1_000;
    return { first: Math.max(...firsts), longest: Math.max(...times), seconds };
  });
  await addScatteredPlants(database, added);
  const stored = await database.countPlants();
  const took = await timed(() => stream(server, `?name=${NOWHERE}`));
  const claims = [
    atMost(100, 'the first 100 plants with a word of one name in sixteen, the longest of ten times: ms', found.first),
    atMost(1_500, 'a word that is nowhere: the longest page, ms', found.longest),
    atMost(15, 'the same: all pages, s', found.seconds),
    atLeast(100_000, 'a stream of a word that is nowhere, 10,000,000 plants more: names a second', [stored / took]),
  ];
  return { database, claims };
});
