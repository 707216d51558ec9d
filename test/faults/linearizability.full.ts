import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { eventually, untilStopped } from '../support/eventually.ts';
import { ROUNDS } from '../support/faults/crash-rounds.ts';
import { purgeOf, startRandomRequests } from '../support/faults/random-requests.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { signal } from '../support/servers/local-process.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import { startWith } from '../support/service-process.ts';
import { migratedDatabase, storedPlantsAt } from '../support/test-database.ts';

/*
 * Three instances whose connections to the database are cut before and after the commit, whose statements arrive late,
 * and whose backends freeze, while deleted plants are purged: what all clients have seen must be what one client could
 * have seen that did the same one after another.
 */

/** Milliseconds of a round at least. */
const ROUND = 20_000;
/** Of what the services send to the database, in per mille. */
const CUT = 30;
const LATE = 2;
/** Milliseconds. */
const FREEZE = { every: 1_500, for: 900 };
/** At most, in milliseconds, until what is late arrives. */
const LATENESS = 2_000;

/** The responses that there are without a fault. */
const DEFINITE = {
  DELETE: [204, 40401, 41200],
  GET: [200, 40401, 41000],
  POST: [200, 40009, 40010],
  PUT: [200, 40401, 41000, 41200],
};

const postgres = forAllTests(() => ownPostgres(['fsync=off']));

test.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
  'no answer is wrong whatever is cut, late, frozen or purged: round %i',
  async () => {
    const database = await migratedDatabase(postgres.url);
    const network = await startTcpProxy(database.url);
    const counts = { cut: 0, late: 0, frozen: 0 };
    const environment = { LOG_LEVEL: 'error', STATEMENT_TIMEOUT: '300ms', STORE_TIMEOUT: '5s' };
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
    const backends = "select pid from pg_stat_activity where application_name = 'plant-store'";
    const requests = startRandomRequests(clients, purgeOf(database.directUrl));
    const stopFreezing = untilStopped(async () => {
      await delay(FREEZE.every);
      const pids = (await database.query(backends)).map(({ pid }) => Number(pid));
      const pid = pids[randomInt(Math.max(1, pids.length))];
      if (pid === undefined || !signal(pid, 'SIGSTOP')) return;
      counts.frozen++;
      await delay(FREEZE.for);
      signal(pid, 'SIGCONT');
    });
    const stopDelivering = untilStopped(async () => {
      await delay(randomInt(LATENESS));
      await network.deliverLate();
    });
    await delay(ROUND);
    // On a busy machine a round may not have had each fault and each response by then.
    await eventually(() => Math.min(requests.purged(), ...Object.values(counts)) > 0);
    const definiteOnes = Object.entries(DEFINITE).flatMap(([method, all]) => all.map((one) => `${method} ${one}`));
    await eventually(() => definiteOnes.every((answer) => requests.counts.has(answer)));
    await Promise.all([requests.stop(), stopFreezing(), stopDelivering()]);
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
    expect([...requests.counts.keys()].filter((answer) => / 50([01]00|3)$/.test(answer))).toEqual([]);
    expect(definite).toBeGreaterThan(0.95);
  },
);
