import { residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { startImport } from './harness/importer.ts';
import { MIB } from './harness/measure.ts';
import { writeList } from './harness/plants.ts';
import { atMost } from './harness/results.ts';
import { inRounds, timed } from './harness/rounds.ts';
import { onDatabase, scenario } from './harness/scenario.ts';

/*
 * npm run bench -- import [--plants 500000] [--rounds 5] [--long 10000000]
 *
 * How fast is npm run import beside COPY, which takes no care of conflicts? In each round COPY, an import of CSV and one
 * of NDJSON bring the same plants into the table, emptied, just after a checkpoint: the imports as a process of their own,
 * its start included, COPY from a file on the server, so Postgres must run on this machine and the role read its files.
 * At last comes one long list: resident memory of each process in the last tenth of the time against the second tenth.
 */

const defaults = { plants: 500_000, rounds: 5, long: 10_000_000 };
await scenario('import', defaults, async (session, { plants, rounds, long }) => {
  const { database, start } = await onDatabase(session);
  const server = await start();
  const [csv, ndjson] = [await writeList('csv', plants, session), await writeList('ndjson', plants, session)];

  /** @returns plants a second */
  async function rate(work: () => Promise<unknown>, count = plants): Promise<number> {
    await startAfresh(database);
    const perSecond = count / (await timed(work));
    const stored = await database.countPlants();
    if (stored !== count) throw new Error(`the table has ${stored} plants instead of ${count}`);
    return perSecond;
  }
  const rates = await inRounds(rounds, 'plants/s', async () => ({
    copy: await rate(() => database.query(`copy plants (id, name, tag) from '${csv}' with (format csv, header)`)),
    csv: await rate(() => startImport(server, csv, session).done()),
    ndjson: await rate(() => startImport(server, ndjson, session).done()),
  }));

  const list = await writeList('ndjson', long, session);
  const samples: { time: number; import: number; service: number }[] = [];
  const begin = performance.now();
  const elapsed = () => (performance.now() - begin) / 1_000;
  await rate(async () => {
    const importing = startImport(server, list, session);
    const sampling = setInterval(() => {
      const [mine = Number.NaN, service = Number.NaN] = [importing, server].map(
        ({ pid }) => residentMemory(pid, 'now') / MIB,
      );
      // It may have ended just now.
      if (!Number.isNaN(mine)) samples.push({ time: elapsed(), import: mine, service });
    }, 500);
    await importing.done().finally(() => clearInterval(sampling));
  }, long);
  const took = elapsed();
  const growth = (of: 'import' | 'service') => {
    const between = (from: number, to: number) =>
      median(samples.filter(({ time }) => time > from * took && time <= to * took).map((sample) => sample[of]));
    return between(0.9, 1) - between(0.1, 0.2);
  };

  const names = { copy: '`COPY` of CSV', csv: 'import of CSV', ndjson: 'import of NDJSON' } as const;
  const rows = (['copy', 'csv', 'ndjson'] as const).map((way) => [
    names[way],
    number(median(rates[way]), 0),
    number(median(rates[way].map((perSecond, round) => perSecond / (rates.copy[round] ?? Number.NaN)))),
  ]);
  const tables = { speed: { head: [`${number(plants, 0)} plants, ${rounds} rounds`, 'plants/s', '÷ `COPY`'], rows } };
  const claims = (['import', 'service'] as const).map((name) =>
    atMost(64, `${number(long, 0)} plants: MiB that the ${name} has grown from the second tenth to the last`, [
      growth(name),
    ]),
  );
  return { database, tables, claims };
});
