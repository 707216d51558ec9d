import { jest, test } from '@jest/globals';
import { crashRounds, emptyHistory, startMortalService } from '../support/faults/crash-rounds.ts';
import { openSqlite, plantsInSqlite, sqliteFolder } from '../support/sqlite-store.ts';

jest.setTimeout(30 * 60_000);

const killed = 'service on SQLite, SIGKILL';

test(`loses nothing and serves again: ${killed}`, async () => {
  const folder = await sqliteFolder();
  const { url, restart, whileDown } = await startMortalService(() => ({ DATA_DIR: folder }));
  const rows = () =>
    whileDown(async () => {
      const file = await openSqlite(folder);
      const plants = await plantsInSqlite(file);
      file.close();
      return plants;
    });
  await crashRounds({ killed, urls: [url], serviceLives: false, crash: restart, rows, history: emptyHistory() });
});
