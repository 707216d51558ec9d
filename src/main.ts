import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runCommand } from './commands/run-command.ts';
import { startApp } from './composition/app.ts';
import { requireFreePorts } from './composition/free-ports.ts';
import { createLog } from './composition/log.ts';
import { readConfig } from './config/config.ts';
import { say } from './process/say.ts';
import { type Stoppable, stopOnSignals } from './process/stop-on-signals.ts';
import { keepObjectsYoung } from './process/young-objects.ts';

/* npm start: starts the service. */

const USAGE = `Usage: npm start [-- --version | --help]

Starts the service. Environment variables and the file .env configure it: docs/configuration.md lists them.

  --version    shows the version
  -h, --help   shows this`;

keepObjectsYoung();

let running: Stoppable | undefined;
stopOnSignals(() => running);
// By default, Node.js opens a debugger.
process.on('SIGUSR1', () => {});

const readArguments = () => parseArgs({ options: { version: { type: 'boolean' } } }).values;
await runCommand('start', USAGE, readArguments, run, 'Plant Store cannot start.\n');

/** @returns the exit code, once the service has started */
async function run({ version }: ReturnType<typeof readArguments>): Promise<number> {
  if (version) {
    console.log(ownVersion());
    return 0;
  }
  const config = readConfig();
  await requireFreePorts(config);
  const log = await createLog(config.logLevel);
  const app = await startApp(config, log);
  running = { ...config, close: app.close };
  say(`Plant Store listens at ${app.apiUrl}, management at ${app.managementUrl}`);
  if (config.api.pages) {
    const token = app.ownToken === undefined ? '' : `#token=${encodeURIComponent(app.ownToken)}`;
    say(`Plants: ${app.apiUrl}/${token}`);
    say(`API documentation: ${app.apiUrl}/docs`);
  }
  say(`Database: ${app.database}`);
  if (app.ownToken !== undefined) say(`Create a plant:\n\n${exampleRequest(app.apiUrl, app.ownToken)}\n`);
  app.ready().then(
    (problem) => problem !== undefined && say(`Ready, but ${problem}`),
    (error: Error) => say(`Not ready: ${error.message}`),
  );
  return 0;
}

function exampleRequest(url: string, token: string): string {
  const plant = JSON.stringify({ id: 1, name: 'Monstera deliciosa', tag: 'houseplant' });
  return `curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}'`;
}

function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
