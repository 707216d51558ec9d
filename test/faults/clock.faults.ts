import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { jumpingClock } from '../support/faults/jumping-clock.ts';
import { faultless, judge, naturals, startLoad } from '../support/load-clients.ts';
import { startWith } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/** Milliseconds. */
const DAY = 24 * 60 * 60 * 1_000;

test('no request fails when the clock jumps a year ahead, and back', async () => {
  const database = await migratedDatabase();
  const { environment, jump } = await jumpingClock();
  const service = await startWith({
    DATABASE_URL: database.url,
    ...environment,
  });
  const load = startLoad(service.apiUrl, naturals());
  // libfaketime looks at most once a second where the clock has gone.
  const lastDate = () => Number(/.*"time":(\d+)/s.exec(service.stdout())?.[1]);
  for (const days of [0, 400, -400, 0]) {
    await jump(`${days < 0 ? '' : '+'}${days}d`);
    await eventually(() => Math.abs(lastDate() - Date.now() - days * DAY) < DAY);
    const before = load.acknowledged();
    await eventually(() => load.acknowledged() > before + 200);
    expect((await fetch(`${service.managementUrl}/ready`)).status).toBe(200);
  }
  const answers = await load.stop();
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  expect(judge(answers, await storedPlantsAt(database.directUrl))).toEqual(faultless);
  expect(load.unsettled).toEqual({ lost: 0, unavailable: 0 });
});
