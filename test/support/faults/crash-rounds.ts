import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect } from '@jest/globals';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { freePort } from '../../../tooling/free-port.ts';
import { markdownTable } from '../../../tooling/markdown-table.ts';
import { TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import {
  type Answer,
  CLIENTS,
  faultless,
  judge,
  type Load,
  naturals,
  type Outage,
  startLoad,
} from '../load-clients.ts';
import { type Service, startService, temporaryFolder } from '../service-process.ts';

/* Kills at random moments under load, and holds every answer that was ever given against the table. */

const { TEST_PROJECT = '', FAULT_ROUNDS } = process.env;
const usualRounds = TEST_PROJECT === 'faults' ? 5 : 1;

/** How often each fault is done. */
export const ROUNDS = /^(faults|distributed)$/.test(TEST_PROJECT) ? Number(FAULT_ROUNDS ?? usualRounds) : 1;

export type MortalService = Awaited<ReturnType<typeof startMortalService>>;

/** Starts the service as a process that ends with the test, and comes back on the same port when it is killed. */
export async function startMortalService(environment: () => Record<string, string>) {
  const folder = await temporaryFolder();
  const port = await freePort();
  let running: Service;
  async function start(): Promise<void> {
    running = await startService(folder, { PORT: `${port}`, ACCESS_TOKENS: TOKEN, ...environment() });
  }
  async function kill(): Promise<void> {
    running.kill('SIGKILL');
    await running.exited;
  }
  /** Kills it, does the work, and starts it again. */
  async function whileDown<Result>(work: () => Promise<Result>): Promise<Result> {
    await kill();
    const result = await work();
    await start();
    return result;
  }
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    whileDown,
    restart: () => whileDown(async () => {}),
  };
}

interface CrashRounds {
  /** Who dies, for the report. */
  readonly killed: string;
  /** Where the instances of the service listen. The loads on several of them race for the same ids. */
  readonly urls: readonly string[];
  /** Kills, and starts again what a supervisor would. */
  readonly crash: () => Promise<unknown>;
  /** Whether no connection to the service may fail meanwhile. */
  readonly serviceLives: boolean;
  /** Whether it repeats pending requests for as long as the outage takes. */
  readonly isPatient?: boolean;
  /** Everything that is stored; the service serves again when it resolves. */
  readonly rows: () => Promise<readonly NewPlant[]>;
  readonly history: History;
  /** Milliseconds that each client waits before a plant, if rounds take long. */
  readonly pause?: number;
  /** Called in each round while the load goes on, after the outage. @param outages of each instance */
  readonly survived?: (outages: readonly Outage[]) => unknown;
}

/** What has been sent to a table and got an answer, in all rounds. */
export interface History {
  readonly answers: Answer[];
  /** Numbers of the next plants, for the load on each instance. */
  readonly numbers: readonly Iterator<number>[];
}

/** A new table's. @param instances of the service that use it */
export function emptyHistory(instances = 1): History {
  return { answers: [], numbers: Array.from({ length: instances }, naturals) };
}

/** Acknowledged by each instance before each crash and again after it, of some 16 clients' requests. */
const PLANTS = 200;

/** Does the rounds. @throws what `expect` does at the first answer that the table contradicts */
export async function crashRounds(rounds: CrashRounds): Promise<void> {
  const { killed, urls, crash, serviceLives, isPatient = false, rows, history, pause, survived } = rounds;
  let [done, acknowledged, lost, outage] = [0, 0, 0, 0];
  let loads: readonly Load[] = [];
  try {
    while (done < ROUNDS) {
      loads = urls.map((url, n) => startLoad(url, history.numbers[n] ?? naturals(), { pause, rival: n }));
      await eventually(() => loads.every((load) => load.acknowledged() >= PLANTS));
      await delay(Math.random() * 300);
      await crash();
      const before = loads.map((load) => load.acknowledged());
      await eventually(() => loads.every((load, n) => load.acknowledged() >= (before[n] ?? 0) + PLANTS));
      const outages = loads.map((load) => load.longestOutage());
      await survived?.(outages);
      for (const load of loads) history.answers.push(...(await load.stop()));

      const verdict = judge(history.answers, await rows());
      done++;
      acknowledged += sum(loads.map((load) => load.acknowledged()));
      lost += verdict.lost.length;
      outage = Math.max(outage, ...outages.map(({ from, to }) => to - from));
      expect(verdict).toEqual(faultless);
      const unsettled = (what: keyof Load['unsettled']) => sum(loads.map((load) => load.unsettled[what]));
      if (serviceLives) expect(unsettled('lost')).toBe(0);
      // Of unknown outcome: each client's last request before the crash, if another plant has its id.
      if (isPatient) expect(unsettled('unavailable')).toBeLessThanOrEqual(CLIENTS * loads.length);
    }
  } finally {
    await Promise.allSettled(loads.map((load) => load.stop()));
    report.push([killed, `${done}`, `${acknowledged}`, `${lost}`, `${(outage / 1_000).toFixed(1)} s`]);
  }
}

const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);

const report: string[][] = [];
afterAll(() => {
  if (report.length === 0) return;
  process.stdout.write(
    `\n${markdownTable(['killed', 'rounds', 'acknowledged', 'lost', 'longest outage'], report)}\n\n`,
  );
});
