import { openOfflineStore, withDatabaseMessage } from './commands/offline-store.ts';
import { formatCount, showProgress } from './commands/progress.ts';
import { type PurgeArguments, purgeArguments, USAGE } from './commands/purge-arguments.ts';
import { runCommand } from './commands/run-command.ts';
import { readMigrationConfig } from './config/config.ts';
import { environment } from './config/environment.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';

/* npm run purge: forgets deleted plants for good (docs/operations.md). */

/** The exit code, beside those of a failure and of the signals. */
const DONE = 0;

const stop = stopRequest('Stopping');

await runCommand('purge', USAGE, purgeArguments, run);

/** @returns the exit code */
async function run({ selection, isConfirmed }: PurgeArguments): Promise<number> {
  const store = await openOfflineStore(readMigrationConfig(environment()));
  let plants = 0;
  const hideProgress = showProgress(() => ({ plants, part: undefined }), process.stderr);
  try {
    for await (const count of store.purge(selection, !isConfirmed)) {
      plants += count;
      if (stop.aborted) break;
    }
  } catch (error) {
    throw withDatabaseMessage(error, 'Run the same command again.');
  } finally {
    hideProgress();
    await store.close();
  }
  const what = `${formatCount(plants)} deleted ${plants === 1 ? 'plant' : 'plants'}`;
  const none = plants === 0 ? 'there is none like that' : undefined;
  say(
    isConfirmed
      ? `${what} forgotten: ${none ?? 'the ids are free'}`
      : `${what} would be forgotten: ${none ?? 'to do it, add --yes'}`,
  );
  return stop.aborted ? stop.reason : DONE;
}
