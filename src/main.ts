import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { startApp } from './bootstrap/app.ts';
import { createLog } from './bootstrap/log.ts';
import { runCommand } from './cli/run-command.ts';
import { readConfig } from './config/config.ts';
import { say } from './runtime/say.ts';
import { stopOnSignals } from './runtime/signals.ts';

/* npm start: starts the service. */

const USAGE = `Usage: npm start

Starts the service. Environment variables and the file .env configure it: docs/configuration.md lists them.`;

/** Milliseconds between two checks while the service is not ready after its start. */
const READINESS_INTERVAL_MS = 1_000;

// docs/performance.md says why. On the command line, V8 would reject Node's own code cache: a start took 30 ms more.
setFlagsFromString('--no-allocation-site-pretenuring');
const stopAtSignals = stopOnSignals();
// By default, Node.js opens a debugger.
process.on('SIGUSR1', () => {});

await runCommand('start', USAGE, () => parseArgs({}), run, 'Plant Store cannot start.\n');

/** Resolves once the service has started. */
async function run(): Promise<void> {
  const config = readConfig();
  const log = await createLog(config.LOG_LEVEL);
  const app = await startApp(config, log);
  const { SHUTDOWN_DELAY: shutdownDelay, SHUTDOWN_TIMEOUT: shutdownTimeout } = config;
  stopAtSignals({ shutdownDelay, shutdownTimeout, close: app.close });
  say(`Plant Store listens at ${app.apiUrl}, management at ${app.managementUrl}`);
  if (config.PAGES) {
    const token = app.ownToken === undefined ? '' : `#token=${encodeURIComponent(app.ownToken)}`;
    say(`Plants: ${app.apiUrl}/${token}`);
    say(`API documentation: ${app.apiUrl}/docs`);
  }
  say(`Database: ${app.database}`);
  const hosts = new Set(config.webhooks.map(({ url }) => new URL(url).host));
  if (hosts.size > 0) say(`Webhooks go to ${[...hosts].join(', ')}`);
  if (app.ownToken !== undefined) say(`Create a plant:\n\n${exampleRequest(app.apiUrl, app.ownToken)}\n`);
  void sayReadiness(app.ready);
}

/** Says what keeps the service from being ready, and then also when it is ready. */
async function sayReadiness(ready: () => Promise<string | undefined>): Promise<void> {
  for (let last: string | undefined; ; ) {
    try {
      const problem = await ready();
      if (last !== undefined || problem !== undefined) say(problem === undefined ? 'Ready.' : `Ready, but ${problem}`);
      return;
    } catch (error) {
      const { message } = error as Error;
      if (message !== last) say(`Not ready: ${message}`);
      last = message;
    }
    await delay(READINESS_INTERVAL_MS, undefined, { ref: false });
  }
}

function exampleRequest(url: string, token: string): string {
  const plant = JSON.stringify({ id: 1, name: 'Monstera deliciosa', tag: 'houseplant' });
  return `curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}'`;
}
