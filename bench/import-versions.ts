import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { atLeast } from './claims.ts';
import { writeList } from './import-lists.ts';
import { importInto, runImport } from './import-process.ts';
import { timed } from './rounds.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- import-versions FOLDER [--plants 200000] [--rounds 5]
 *
 * npm run import of this version, which sends lists to the service, beside that of the one that is checked out in FOLDER,
 * with its packages installed, which wrote into the database itself: commit 7c894e8, or an earlier one. In each round each
 * has its turn on a table that was just emptied, the first one in turn; the start of the process counts.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { plants: { type: 'string' }, rounds: { type: 'string' } },
});
const [folder, ...rest] = positionals;
if (folder === undefined || rest.length > 0) throw new Error('name the folder of the other version, and nothing else');
const plants = positive(values.plants, 200_000);
const rounds = positive(values.rounds, 5);

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database.url, session);
  const importers = [
    importInto(server),
    { script: resolve(folder, 'src/import.ts'), environment: { DATABASE_URL: database.url } },
  ];

  const claims = [];
  for (const format of ['ndjson', 'csv'] as const) {
    const list = await writeList(format, plants, session);
    const ratios: number[] = [];
    // Before the first round, V8 compiles what is hot in the service.
    for (let round = 0; round <= rounds; round++) {
      const rates: number[] = [];
      for (let turn = 0; turn < importers.length; turn++) {
        const index = (round + turn) % importers.length;
        const importer = importers[index];
        if (importer === undefined) continue;
        await startAfresh(database);
        rates[index] = plants / (await timed(() => runImport(importer, list, session)));
        const count = await database.countPlants();
        if (count !== plants) throw new Error(`${importer.script} brought ${count} plants instead of ${plants}`);
      }
      const [ours = Number.NaN, other = Number.NaN] = rates;
      if (round > 0) ratios.push(ours / other);
      console.error(`${format}, round ${round}/${rounds}: ${number(ours, 0)} plants/s, the other ${number(other, 0)}`);
    }
    claims.push(atLeast(0.7, `${number(plants, 0)} plants of ${format}: plants/s ÷ the other version`, ratios));
  }
  console.log(`\n${claimTable(claims)}`);
});
