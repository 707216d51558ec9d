import { jest, test } from '@jest/globals';
import { storedPlantsIn } from '../support/embedded-template.ts';
import { crashRounds, emptyHistory, startMortalService } from '../support/faults/crash-rounds.ts';
import { temporaryFolder } from '../support/service-process.ts';

/* Only in the long run, since each start of the embedded database takes seconds. */

jest.setTimeout(30 * 60_000);

const killed = 'service on the embedded database, SIGKILL';

test(`loses nothing and serves again: ${killed}`, async () => {
  const folder = await temporaryFolder();
  const { url, restart, whileDown } = await startMortalService(() => ({ DATA_DIR: folder }));
  const rows = () => whileDown(() => storedPlantsIn(folder));
  await crashRounds({ killed, urls: [url], serviceLives: false, crash: restart, rows, history: emptyHistory() });
});
