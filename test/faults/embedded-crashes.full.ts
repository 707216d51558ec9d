import { jest, test } from '@jest/globals';
import { openEmbedded, plantsInFile } from '../support/embedded-store.ts';
import { crashRounds, emptyHistory, startMortalService } from '../support/faults/crash-rounds.ts';
import { temporaryFolder } from '../support/service-process.ts';

jest.setTimeout(30 * 60_000);

const killed = 'service on SQLite, SIGKILL';

test(`loses nothing and serves again: ${killed}`, async () => {
  const folder = await temporaryFolder();
  const { url, restart, whileDown } = await startMortalService(() => ({ DATA_DIR: folder }));
  const rows = () =>
    whileDown(async () => {
      const file = await openEmbedded(folder);
      const plants = await plantsInFile(file);
      file.close();
      return plants;
    });
  await crashRounds({ killed, urls: [url], serviceLives: false, crash: restart, rows, history: emptyHistory() });
});
