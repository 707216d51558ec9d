import { readFile } from 'node:fs/promises';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { problemsAfter } from '../../support/disk/after-loss.ts';
import type { Model } from '../../support/disk/lossy-disk.ts';
import { entriesOf, powerLosses } from '../../support/disk/power-losses.ts';
import { recordedWork, type Work } from '../../support/disk/recorded-work.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/*
 * Power losses of the embedded database. What a service writes and syncs is recorded, from its first start on, and the
 * folder is made as it may be after a loss at many moments. The service is started on each, and held against what it had
 * acknowledged.
 */

const isLong = faultRounds > 1;
const MOMENTS = isLong ? 25 * faultRounds : 8;
const ROUNDS = isLong ? 14 : 1;
/** Checked at the same time. */
const AT_ONCE = 2;

jest.setTimeout(isLong ? 4 * 3_600_000 : 15 * 60_000);

let work: Work;
beforeAll(async () => {
  work = await recordedWork(await temporaryFolder(), ROUNDS);
});

/** What is wrong after losses at so many moments, each with its moment. */
async function losses(recorded: Work, model: Model, count: number, seed: number): Promise<string[]> {
  const wrong: string[] = [];
  const running = new Set<Promise<void>>();
  for await (const loss of powerLosses(recorded, model, count, seed)) {
    const check = (async () => {
      const problems = await problemsAfter(loss, recorded, await temporaryFolder());
      if (problems.length > 0) wrong.push(`${loss.description}: ${problems.slice(0, 5).join('; ')}`);
      await loss.remove();
    })();
    running.add(check);
    void check.finally(() => running.delete(check));
    if (running.size >= AT_ONCE) await Promise.race(running);
  }
  await Promise.all(running);
  return wrong;
}

test.each(['ext4', 'posix'] as const)(
  `loses nothing that it acknowledged, and starts again, after ${MOMENTS} power losses in the model %s`,
  async (model) => {
    const seed = isLong ? Math.floor(Math.random() * 2 ** 31) : 1;
    expect(await losses(work, model, MOMENTS, seed)).toEqual([]);
  },
);

test('finds the losses of a disk that syncs nothing', async () => {
  const lying = await recordedWork(await temporaryFolder(), 1, { IGNORE_SYNCS: '1' });
  expect((await losses(lying, 'posix', 6, 1)).length).toBeGreaterThan(1);
});

test('syncs the log before each response', async () => {
  const unsynced = new Set<string>();
  const early: string[] = [];
  let responses = 0;
  for (const { entry } of entriesOf(await readFile(work.journal))) {
    if ((entry.op === 'write' || entry.op === 'zeros') && entry.path.includes('/pg_wal/')) unsynced.add(entry.path);
    if (entry.op === 'sync') unsynced.delete(entry.path);
    if (entry.op !== 'response') continue;
    responses++;
    if (unsynced.size > 0) early.push(entry.operation);
  }
  expect(early).toEqual([]);
  expect(responses).toBeGreaterThan(500);
});

test('syncs once for the creates of many clients', async () => {
  let [creates, without, isSynced] = [0, 0, false];
  for (const { entry } of entriesOf(await readFile(work.journal))) {
    if (entry.op === 'sync' && entry.path.includes('/pg_wal/')) isSynced = true;
    if (entry.op !== 'response' || !entry.operation.startsWith('POST')) continue;
    creates++;
    if (!isSynced) without++;
    isSynced = false;
  }
  // Otherwise there would be a sync before each response.
  expect(without).toBeGreaterThan(creates / 2);
});
