import { parseArgs } from 'node:util';
import type { PurgeSelection } from './adapters/postgres/changes/plant-purge.ts';
import { withOfflineStore } from './commands/offline-store.ts';
import { formatCount, showProgress } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { readMigrationConfig } from './config/config.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';
import { parsePlantId, plantIdRule } from './wire/plant-id.ts';

/* npm run purge: forgets deleted plants for good (docs/operations.md). */

const USAGE = `Usage: npm run purge -- --deleted-before AGE | --id ID [--yes]

Forgets deleted plants for good, in the database of MIGRATION_DATABASE_URL, else of DATABASE_URL, else in the embedded
one in DATA_DIR. Their ids are free then: a late retry of a creation creates the plant again. Consumers of /changes that
have not read the deletion yet have to start again.

  --deleted-before AGE   those deleted at least so long ago: 90d, 12h, 30m, 0s
  --id ID                the deleted plant with this id
  --yes                  forgets them; without it, the command only says how many they are
  -h, --help             shows this

It can be interrupted and run again. Exit codes: 0 done; 1 it did not begin, or could not go on; 130, 143 it was
interrupted by Ctrl-C, by SIGTERM.

Example: npm run purge -- --deleted-before 90d`;

/** In seconds. */
const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

const stop = stopRequest('Stopping');

await runCommand('purge', USAGE, purgeArguments, run);

/** @throws Error, saying what is wrong with the command line */
function purgeArguments(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      'deleted-before': { type: 'string' },
      id: { type: 'string' },
      yes: { type: 'boolean', default: false },
    },
  });
  const { id, 'deleted-before': age, yes } = values;
  if ((id === undefined) === (age === undefined)) throw new Error('give either --deleted-before or --id');
  const selection: PurgeSelection = {
    minAge: age === undefined ? 0 : secondsIn(age),
    id: id === undefined ? undefined : idIn(id),
  };
  return { selection, isConfirmed: yes };
}

function secondsIn(age: string): number {
  const [, count, unit] = /^(\d{1,6})([dhms])$/.exec(age) ?? [];
  if (count === undefined) throw new Error('--deleted-before must be a time like 90d, 12h, 30m or 0s');
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

function idIn(text: string): bigint {
  const id = parsePlantId(text);
  if (id === undefined) throw new Error(`--id must be ${plantIdRule}; write a negative one as --id=-1`);
  return id;
}

/** @returns the exit code */
async function run({ selection, isConfirmed }: ReturnType<typeof purgeArguments>): Promise<number> {
  let plants = 0;
  await withOfflineStore(readMigrationConfig(), async ({ purge }) => {
    const hideProgress = showProgress(() => ({ plants, part: undefined }), process.stderr);
    try {
      for await (const count of purge(selection, !isConfirmed)) {
        plants += count;
        if (stop.aborted) break;
      }
    } finally {
      hideProgress();
    }
  });
  const what = `${formatCount(plants)} deleted ${plants === 1 ? 'plant' : 'plants'}`;
  const none = plants === 0 ? 'there is none like that' : undefined;
  say(
    isConfirmed
      ? `${what} forgotten: ${none ?? 'the ids are free'}`
      : `${what} would be forgotten: ${none ?? 'to do it, add --yes'}`,
  );
  return stop.aborted ? stop.reason : 0;
}
