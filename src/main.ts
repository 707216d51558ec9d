import { startCluster } from './cluster/primary.ts';
import { startArguments } from './commands/start-arguments.ts';
import { startApp } from './composition/app.ts';
import { requireFreePorts } from './composition/free-ports.ts';
import { createLog } from './composition/log.ts';
import { readConfig } from './config/config.ts';
import { environment } from './config/environment.ts';
import { say } from './process/say.ts';
import { type Stoppable, stopOnSignals } from './process/stop-on-signals.ts';
import { keepObjectsYoung } from './process/young-objects.ts';

keepObjectsYoung();

let running: Stoppable | undefined;
stopOnSignals(() => running);
// By default, Node.js opens a debugger.
process.on('SIGUSR1', () => {});
try {
  const text = startArguments(process.argv.slice(2));
  if (text !== undefined) {
    console.log(text);
    process.exit();
  }
  const config = readConfig(environment());
  await requireFreePorts(config);
  const log = await createLog(config.logLevel);
  const app = config.processes > 1 ? await startCluster(config, log.log) : await startApp(config, log);
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
} catch (error) {
  say(`Plant Store cannot start.\n${error instanceof Error ? error.message : error}`);
  // An embedded database that could not be opened keeps a timer, and with it the process.
  process.exit(1);
}

function exampleRequest(url: string, token: string): string {
  const plant = JSON.stringify({ id: 1, name: 'Monstera deliciosa', tag: 'houseplant' });
  return `curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}'`;
}
