import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect } from '@jest/globals';
import type { NewPlant } from '../../src/domain/plant.ts';
import { freePort } from '../../tooling/free-port.ts';
import { markdownTable } from '../../tooling/markdown-table.ts';
import { TOKEN } from './api-server.ts';
import { eventually } from './eventually.ts';
import { type Answer, faultless, judge, naturals, startLoad } from './load-clients.ts';
import { type Service, startService, temporaryFolder } from './service-process.ts';

/* Kills at random moments under load, and holds every answer that was ever given against the table. */

declare global {
  /** How often each crash is done, from jest.config.js or jest.faults.config.js. */
  var faultRounds: number;
}

/** A service that is killed and comes back on the same port, as a supervisor would start it. */
export interface MortalService {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Starts the service as a process that ends with the test. */
export async function startMortalService(environment: () => Record<string, string>): Promise<MortalService> {
  const folder = await temporaryFolder();
  const port = await freePort();
  let running: Service;
  const service = {
    url: `http://127.0.0.1:${port}`,
    async kill() {
      running.kill('SIGKILL');
      await running.exited;
    },
    async start() {
      running = await startService(folder, { PORT: `${port}`, ACCESS_TOKENS: TOKEN, ...environment() });
    },
  };
  await service.start();
  return service;
}

interface CrashRounds {
  /** Who dies, for the report. */
  readonly killed: string;
  readonly url: string;
  /** Kills, and starts again what a supervisor would. */
  readonly crash: () => Promise<unknown>;
  /** Whether no connection to the service may fail meanwhile. */
  readonly serviceLives: boolean;
  /** Everything that is stored; the service serves again when it resolves. */
  readonly rows: () => Promise<readonly NewPlant[]>;
}

/** Acknowledged before each crash and again after it, of some 16 clients' requests. */
const PLANTS = 200;

/** Of all the crashes in a file, since they may share a table. */
const answers: Answer[] = [];
const numbers = naturals();

/** Does the rounds. @throws what `expect` does at the first answer that the table contradicts */
export async function crashRounds({ killed, url, crash, serviceLives, rows }: CrashRounds): Promise<void> {
  let [rounds, acknowledged, lost, outage] = [0, 0, 0, 0];
  try {
    while (rounds < faultRounds) {
      const load = startLoad(url, numbers);
      await eventually(() => load.acknowledged() >= PLANTS);
      await delay(Math.random() * 300);
      await crash();
      const before = load.acknowledged();
      await eventually(() => load.acknowledged() >= before + PLANTS);
      answers.push(...(await load.stop()));

      const verdict = judge(answers, await rows());
      rounds++;
      acknowledged += load.acknowledged();
      lost += verdict.lost.length;
      outage = Math.max(outage, load.longestOutage());
      expect(verdict).toEqual(faultless);
      if (serviceLives) expect(load.unsettled.lost).toBe(0);
    }
  } finally {
    report.push([killed, `${rounds}`, `${acknowledged}`, `${lost}`, `${(outage / 1_000).toFixed(1)} s`]);
  }
}

const report: string[][] = [];
afterAll(() => {
  if (report.length === 0) return;
  process.stdout.write(
    `\n${markdownTable(['killed', 'rounds', 'acknowledged', 'lost', 'longest outage'], report)}\n\n`,
  );
});
