import cluster from 'node:cluster';
import { readConfig } from '../config/config.ts';
import { shareOf } from '../config/shares.ts';
import { answerQuestions, tell } from '../process/questions.ts';
import type { FirstMessage } from '../process/worker-process.ts';
import { END_AT_ONCE } from '../process/workers.ts';
import { keepObjectsYoung } from '../process/young-objects.ts';
import { startApp } from './app.ts';
import { createLog } from './log.ts';
import type { WorkerStart } from './workers.ts';

/* One of the processes that serve the API together; workers.ts starts it. */

/** The part of SHUTDOWN_TIMEOUT in which it must be ready to end. Its end takes time, too, and the first process waits. */
const CLOSE_WITHIN = 0.9;

keepObjectsYoung();

// A terminal or service manager may send them to all processes of the service; only the first process acts on them.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
process.on(END_AT_ONCE, () => process.exit(1));

try {
  // The first process has added .env, which may have changed since.
  const config = shareOf(readConfig(process.env));
  let droppedLines = 0;
  const log = await createLog(config.logLevel, () => droppedLines++, true);
  const { management: _, ...withoutPort } = config;
  const shutdownTimeout = config.shutdownTimeout * CLOSE_WITHIN;
  const app = await startApp({ ...withoutPort, shutdownTimeout }, log, () => droppedLines);
  let stopping: Promise<void> | undefined;
  const stop = (acceptFor: number) => {
    stopping ??= app.close(acceptFor).finally(() => setImmediate(() => process.exit()));
    return stopping;
  };

  answerQuestions({
    ready: app.ready,
    metrics: app.metrics,
    stop: (acceptFor) => stop(Number(acceptFor)),
  });
  // Without this, node:cluster would end the process when the first one is gone, and with it the requests in flight.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), config.shutdownTimeout).unref();
    stop(0).catch((err) => log.error({ err }, 'the shutdown failed'));
  });
  const { apiUrl, database } = app;
  await tell({ started: { apiUrl, database } } satisfies FirstMessage<WorkerStart>);
} catch (error) {
  const { message, code, syscall, port } = error as NodeJS.ErrnoException & { port?: number };
  await tell({ failed: { message, code, syscall, port } } satisfies FirstMessage<WorkerStart>);
  process.exit(1);
}
