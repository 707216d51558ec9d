import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { ROUNDS } from '../support/faults/crash-rounds.ts';
import { sendRandomRequests } from '../support/faults/random-requests.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { signal } from '../support/servers/local-process.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import { startWith } from '../support/service-process.ts';
import { connect, migratedDatabase, purgeOn, storedPlantsAt } from '../support/test-database.ts';

/*
 * Three instances whose connections to the database are cut before and after the commit, whose statements arrive late,
 * and whose backends freeze, while deleted plants are purged: what all clients have seen must be what one client could
 * have seen that did the same one after another.
 */

const ROUND = 20_000;
/** Of what the services send to the database, in per mille. */
const CUT = 30;
const LATE = 2;
/** Milliseconds. */
const FREEZE = { every: 1_500, for: 900 };
/** At most, in milliseconds, until what is late arrives. */
const LATENESS = 2_000;
/** Seconds since a deletion until its id is freed: as an hour is for a service, longer than any statement is late. */
const PURGE_AGE = 8;

const environment = { LOG_LEVEL: 'error', STATEMENT_TIMEOUT: '300ms', STORE_TIMEOUT: '5s' };

const postgres = forAllTests(() => ownPostgres(['fsync=off']));

test.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
  'no answer is wrong whatever is cut, late, frozen or purged: round %i',
  async () => {
    const database = await migratedDatabase(postgres.url);
    const network = await startTcpProxy(database.url);
    const counts = { cut: 0, late: 0, frozen: 0, purged: 0 };
    const start = () => startWith({ ...environment, DATABASE_URL: network.url });
    const services = await Promise.all([start(), start(), start()]);
    const clients = services.map(({ apiUrl }) => apiClient(apiUrl));
    network.interfere(() => {
      const n = randomInt(1_000);
      if (n < CUT) {
        counts.cut++;
        return n % 3 === 0 ? 'half' : 'answer';
      }
      if (n >= CUT + LATE) return undefined;
      counts.late++;
      return 'late';
    });
    const end = performance.now() + ROUND;
    // On a busy machine a round may not have had each fault by then.
    const isOver = () => performance.now() > end && Math.min(...Object.values(counts)) > 0;
    const backends = "select pid from pg_stat_activity where application_name = 'plant-store'";

    async function freeze(): Promise<void> {
      while (!isOver()) {
        await delay(FREEZE.every);
        const pids = (await database.query(backends)).map(({ pid }) => Number(pid));
        const pid = pids[randomInt(Math.max(1, pids.length))];
        if (pid === undefined || !signal(pid, 'SIGSTOP')) continue;
        counts.frozen++;
        await delay(FREEZE.for);
        signal(pid, 'SIGCONT');
      }
    }
    async function deliver(): Promise<void> {
      while (!isOver()) {
        await delay(randomInt(LATENESS));
        await network.deliverLate();
      }
    }
    const forget = purgeOn(connect(database.directUrl));
    async function purge(): Promise<bigint[]> {
      const tombstones = () => database.query('select id, deleted::text from plants where deleted is not null');
      const before = await tombstones();
      for await (const count of forget({ minAge: PURGE_AGE, id: undefined }, false)) counts.purged += count;
      // A plant that has got the id of another one since may be deleted by now, too.
      const after = new Map((await tombstones()).map(({ id, deleted }) => [id, deleted]));
      const freed = before.filter(({ id, deleted }) => after.get(id ?? null) !== deleted);
      return freed.map(({ id }) => BigInt(id ?? ''));
    }

    const [requests] = await Promise.all([sendRandomRequests(clients, isOver, purge), freeze(), deliver()]);
    for (const client of clients) client.close();
    for (const service of services) {
      service.kill('SIGTERM');
      expect(await service.exited).toEqual({ code: 0, signal: null });
    }
    await network.close();
    const contradictions = requests.contradictions(await storedPlantsAt(database.directUrl));

    const total = [...requests.counts.values()].reduce((sum, count) => sum + count, 0);
    const unavailable = [...requests.counts].filter(([answer]) => answer.endsWith(' 50300')).map(([, count]) => count);
    const definite = 1 - unavailable.reduce((sum, count) => sum + count, 0) / total;
    expect(contradictions).toEqual([]);
    expect([...requests.counts.keys()].filter((answer) => / 50[01]00$/.test(answer))).toEqual([]);
    expect(definite).toBeGreaterThan(0.95);
  },
);

test('without a fault every answer is definite and right', async () => {
  const { url } = await migratedDatabase(postgres.url);
  // A busy machine is no fault.
  const patient = { ...environment, DATABASE_URL: url, STATEMENT_TIMEOUT: '20s', STORE_TIMEOUT: '60s' };
  const start = () => startWith(patient);
  const clients = (await Promise.all([start(), start()])).map(({ apiUrl }) => apiClient(apiUrl));
  const { counts, contradictions } = await sendRandomRequests(clients, (requests) => requests >= 10_000);
  for (const client of clients) client.close();
  const answers = Object.entries({
    DELETE: [204, 40401, 41200],
    GET: [200, 40401, 41000],
    POST: [200, 40009, 40010],
    PUT: [200, 40401, 41000, 41200],
  });
  const definite = answers.flatMap(([method, all]) => all.map((answer) => `${method} ${answer}`));
  expect([...counts.keys()].sort()).toEqual(definite);
  expect(contradictions(await storedPlantsAt(url))).toEqual([]);
});
