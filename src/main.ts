import { type App, startApp } from './composition/app.ts';
import { createLog } from './composition/log.ts';
import { startWorkers } from './composition/workers.ts';
import { readConfig } from './config/config.ts';
import { ConfigError } from './config/config-reader.ts';
import { environment } from './config/environment.ts';
import { say } from './process/say.ts';
import { stopOnSignals } from './process/stop-on-signals.ts';
import { keepObjectsYoung } from './process/young-objects.ts';

keepObjectsYoung();

let running: App | undefined;
const stop = stopOnSignals(() => running);
try {
  const config = readConfig(environment());
  let droppedLines = 0;
  const severalProcesses = config.processes > 1;
  const log = await createLog(config.logLevel, () => droppedLines++, severalProcesses);
  const app = severalProcesses
    ? await startWorkers(config, log, stop)
    : await startApp(config, log, () => droppedLines);
  running = app;
  say(`Plant Store listens at ${app.apiUrl}, management at ${app.managementUrl}`);
  say(`API documentation: ${app.apiUrl}/docs`);
  say(`Database: ${app.database}`);
  if (app.ownToken !== undefined) say(`Create a plant:\n\n${exampleRequest(app.apiUrl, app.ownToken)}\n`);
  app.ready().then(
    (problem) => problem !== undefined && say(`Ready, but ${problem}`),
    (error: Error) => say(`Not ready: ${error.message}`),
  );
} catch (error) {
  say(`Plant Store cannot start.\n${explain(error)}`);
  process.exitCode = 1;
}

function exampleRequest(url: string, token: string): string {
  const plant = JSON.stringify({ id: 1, name: 'Monstera deliciosa', tag: 'houseplant' });
  return `curl ${url}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${plant}'`;
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  const { code, syscall, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use: stop the process that listens there, or set PORT or MANAGEMENT_PORT.`;
  // A worker process calls it bind.
  if (syscall === 'listen' || syscall === 'bind' || syscall === 'getaddrinfo') {
    return `${message}: change HOST and PORT, or MANAGEMENT_HOST and MANAGEMENT_PORT.`;
  }
  return message;
}
