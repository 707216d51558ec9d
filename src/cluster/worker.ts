import { type ProcessApp, type ProcessConfig, startApp } from '../composition/app.ts';
import { createLog } from '../composition/log.ts';
import { keepObjectsYoung } from '../process/young-objects.ts';
import { END_AT_ONCE, type Request, type Requests, type Response } from './supervised-worker.ts';

/* One of the processes that serve the API together, started by supervised-worker.ts. */

keepObjectsYoung();
// A terminal or service manager may send them to all processes of the service; only the first process acts on them.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
process.on(END_AT_ONCE, () => process.exit(1));

let app: ProcessApp | undefined;
async function start(config: ProcessConfig): ReturnType<Requests['start']> {
  app = await startApp(config, await createLog(config.logLevel));
  return { apiUrl: app.apiUrl, database: app.database };
}

process.on('message', async ({ id, name, args }: Request) => {
  const handle = { ...app, start }[name] as (...args: unknown[]) => Promise<unknown>;
  const outcome = await handle(...args).then(
    (value) => ({ value }),
    ({ message: error }: Error) => ({ error }),
  );
  send({ id, ...outcome });
});
send({ id: 0 });

function send(response: Response): void {
  // If the first process has ended meanwhile, this one is about to: without a callback it would die of the error.
  process.send?.(response, undefined, undefined, () => {});
}
