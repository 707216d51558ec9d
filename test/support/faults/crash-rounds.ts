import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { freePort } from '../../../tooling/free-port.ts';
import { TOKEN } from '../api-server.ts';
import { eventually } from '../eventually.ts';
import { CLIENTS, type Load, naturals, type Outage, startLoad } from '../load-clients.ts';
import { differences } from '../plants/changes.ts';
import { type Service, startService, temporaryFolder } from '../service-process.ts';

/* Faults at random moments under load, and every response that was ever given held against the table. */

const { TEST_PROJECT = '', FAULT_ROUNDS } = process.env;
const usualRounds = TEST_PROJECT === 'faults' ? 5 : 1;

/** How often each fault is done. */
export const ROUNDS = /^(faults|distributed)$/.test(TEST_PROJECT) ? Number(FAULT_ROUNDS ?? usualRounds) : 1;

export interface MortalService {
  readonly url: string;
  /** Kills it, does the work, and starts it again. */
  whileDown<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Kills it, and starts it again. */
  restart(): Promise<void>;
}

/** Starts the service as a process that ends with the test, and comes back on the same port when it is killed. */
export async function startMortalService(environment: () => Record<string, string>): Promise<MortalService> {
  const folder = await temporaryFolder();
  const port = await freePort();
  let running: Service;
  async function start(): Promise<void> {
    running = await startService(folder, { PORT: `${port}`, ACCESS_TOKENS: TOKEN, ...environment() });
  }
  async function whileDown<Result>(work: () => Promise<Result>): Promise<Result> {
    running.kill('SIGKILL');
    await running.exited;
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
  /** Where the instances of the service listen. */
  readonly urls: readonly string[];
  /** Kills, and starts again what a supervisor would. */
  readonly crash: () => Promise<unknown>;
  /** Whether no connection to the service may fail meanwhile. */
  readonly serviceLives: boolean;
  /** Whether it repeats pending requests for as long as the outage takes. */
  readonly isPatient?: boolean;
  /** Everything that is stored; the service serves again when it resolves. */
  readonly rows: () => Promise<readonly NewPlant[]>;
  /** Milliseconds that each client waits before a plant, if rounds take long. */
  readonly pause?: number;
  /** Called in each round while the load goes on, after the outage. @param outages of each instance */
  readonly survived?: (outages: readonly Outage[]) => unknown;
}

/** Acknowledged by each instance before each crash and again after it, of some 16 clients' requests. */
const PLANTS = 200;

/** Does the rounds. @throws at the first response that was wrong, or that the table contradicts */
export async function crashRounds(rounds: CrashRounds): Promise<void> {
  const { killed, urls, crash, serviceLives, isPatient = false, rows, pause, survived } = rounds;
  const numbers = naturals();
  const stored: NewPlant[] = [];
  let [acknowledged, longest] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const loads = urls.map((url) => startLoad(url, numbers, { pause }));
    await eventually(() => loads.every((load) => load.acknowledged() >= PLANTS));
    await delay(Math.random() * 300);
    await crash();
    const before = loads.map((load) => load.acknowledged());
    await eventually(() => loads.every((load, n) => load.acknowledged() >= (before[n] ?? 0) + PLANTS));
    const outages = loads.map((load) => load.longestOutage());
    await survived?.(outages);
    for (const load of loads) stored.push(...(await load.stop()));

    acknowledged += sum(loads.map((load) => load.acknowledged()));
    longest = Math.max(longest, ...outages.map(({ from, to }) => to - from));
    expect(differences(stored, await rows())).toEqual([]);
    const unsettled = (what: keyof Load['unsettled']) => sum(loads.map((load) => load.unsettled[what]));
    if (serviceLives) expect(unsettled('lost')).toBe(0);
    // Of unknown outcome: each client's last request before the crash.
    if (isPatient) expect(unsettled('unavailable')).toBeLessThanOrEqual(CLIENTS * loads.length);
  }
  process.stdout.write(`${killed}: ${acknowledged} acknowledged, longest outage ${(longest / 1_000).toFixed(1)} s\n`);
}

const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
