import { beforeAll, expect, jest, test } from '@jest/globals';
import { decodeCursor } from '../../../src/application/changes/cursor.ts';
import { type Loss, powerLosses } from '../../support/disk/power-losses.ts';
import { type TracedWork, tracedWork, wrongStates } from '../../support/disk/traced-work.ts';
import { embeddedPlants, openEmbedded, plantsInFile } from '../../support/embedded-store.ts';
import { ROUNDS } from '../../support/faults/crash-rounds.ts';
import { readPage, readToEnd } from '../../support/plants/changes.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/*
 * Power losses of the service on SQLite. What its process writes and syncs is recorded below Node.js, with syncs that fail and
 * a WAL that wraps, and the folder is made as it may be after a loss at many moments.
 */

const isLong = ROUNDS > 1;
const MOMENTS = 200 * ROUNDS;

jest.setTimeout(30 * 60_000);

let work: TracedWork;
beforeAll(async () => {
  work = await tracedWork(await temporaryFolder(), isLong ? 6 : 3);
});

/** What is wrong, in words. */
async function problemsAfter({ dataDir, acknowledged }: Loss): Promise<string[]> {
  const file = await openEmbedded(dataDir);
  try {
    const { integrity_check: integrity } = file.sql.prepare('pragma integrity_check').get() ?? {};
    const plants = embeddedPlants(file);
    const stored = (await plantsInFile(file)).map(({ id, name }) => [Number(id), name] as const);
    const followed = new Map(
      (await readToEnd(plants)).changes.flatMap((one) =>
        'deleted' in one ? [] : [[Number(one.id), one.name] as const],
      ),
    );
    const seen = [...work.cursors].filter(([operation]) => acknowledged.has(operation));
    const positions = seen.map(([, cursor]) => decodeCursor(cursor));
    const end = decodeCursor((await readPage(plants, 'now')).next);
    return [
      ...(integrity === 'ok' ? [] : [`integrity: ${integrity}`]),
      ...wrongStates(new Map(stored), work, acknowledged),
      ...stored.filter(([id, name]) => followed.get(id) !== name).map(([id]) => `plant ${id} is not so in the feed`),
      ...(followed.size === stored.length ? [] : ['the feed has other plants']),
      ...positions
        .filter(({ epoch, position }) => epoch !== end.epoch || position.changed > end.position.changed)
        .map(({ position }) => `the number ${position.changed} is given out again`),
      ...((await plants.add({ id: -1n, name: 'afterwards' })) === 'created' ? [] : ['it creates nothing']),
    ];
  } finally {
    await file.close();
  }
}

async function losses(count: number, seed: number, entries = work.entries): Promise<string[]> {
  const wrong: string[] = [];
  for await (const loss of powerLosses({ ...work, entries }, count, seed)) {
    const problems = await problemsAfter(loss).catch((error: Error) => [`it does not open: ${error.message}`]);
    if (problems.length > 0) wrong.push(`${loss.description}: ${problems.slice(0, 5).join('; ')}`);
  }
  return wrong;
}

test(`loses nothing by ${MOMENTS} power losses, and starts again`, async () => {
  expect(await losses(MOMENTS, isLong ? Math.floor(Math.random() * 2 ** 31) : 1)).toEqual([]);
});

test('has recorded commits, checkpoints, failed syncs, and a WAL that wraps', async () => {
  const counts = new Map<string, number>();
  for (const entry of work.entries) {
    const isOk = entry.op === 'response' && entry.status === 200;
    const file = 'path' in entry ? entry.path.split('/').at(-1) : isOk;
    const isStart = entry.op === 'write' && file === 'plants.db-wal' && entry.at === 0;
    const kind = isStart ? 'a WAL begins' : `${entry.op} ${file}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  expect(counts.get('response true')).toBeGreaterThan(500);
  expect(counts.get('sync plants.db')).toBeGreaterThan(5);
  expect(counts.get('failure plants.db-wal')).toBeGreaterThan(0);
  expect(counts.get('a WAL begins')).toBeGreaterThan(5);
});

test('finds the losses of a disk that syncs nothing', async () => {
  const entries = work.entries.filter(({ op }) => op !== 'sync');
  expect((await losses(12, 1, entries)).length).toBeGreaterThan(3);
});
