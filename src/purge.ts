import { parseArgs } from 'node:util';
import type { Maintenance, PurgeSelection } from './application/maintenance.ts';
import { withStore } from './bootstrap/open-store.ts';
import { formatCount, showProgress } from './cli/progress.ts';
import { runCommand } from './cli/run-command.ts';
import { decimalId } from './formats/plant-id.ts';
import { say } from './runtime/say.ts';
import { stopRequest } from './runtime/signals.ts';

/* npm run purge: forgets deleted plants for good (docs/changing.md). */

const USAGE = `Usage: npm run purge -- --deleted-before AGE | --id ID [--yes]

Forgets deleted plants for good, in the database of MIGRATION_DATABASE_URL, else of DATABASE_URL, else in the embedded
one in DATA_DIR. Their ids are free then: a late retry of a creation creates the plant again. Consumers of /changes that
have not read the deletion yet have to start again.

Ids are freed only an hour after their deletion: a statement that the service has given up may still run, and would
bring the plant back, or delete another one that has got the id.

  --deleted-before AGE   those deleted at least so long ago: 90d, 12h, 90m
  --id ID                the deleted plant with this id
  --yes                  forgets them; without it, the command only says how many they are

It can be interrupted and run again. Exit codes: 0 done; 1 it did not begin, or could not go on; 130, 143 it was
interrupted by Ctrl-C, by SIGTERM.

Example: npm run purge -- --deleted-before 90d`;

/** Seconds after which a statement that was given up is taken to have run or ended: nobody can know it. */
const AGE_S_MIN = 3_600;

const NONE = 'no such plant was deleted at least an hour ago (see --help)';

const UNITS_IN_S: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };

const stop = stopRequest('Stopping');

await runCommand('purge', USAGE, purgeArguments, run);

/** @throws Error, saying what is wrong with the command line */
function purgeArguments(args: string[]) {
  const text = { type: 'string' } as const;
  const options = { 'deleted-before': text, id: text, yes: { type: 'boolean', default: false } } as const;
  const { id: idText, 'deleted-before': age, yes: isConfirmed } = parseArgs({ args, options }).values;
  if ((idText === undefined) === (age === undefined)) throw new Error('give either --deleted-before or --id');
  const [, count, unit = ''] = /^(\d{1,6})([dhms])$/.exec(age ?? '0s') ?? [];
  if (count === undefined) throw new Error('--deleted-before must be a time like 90d, 12h or 90m');
  const id = idText === undefined ? undefined : decimalId.parse(idText);
  if (id?.toString() !== idText) throw new Error(`--id must be ${decimalId.mustBe}; write a negative one as --id=-1`);
  return { minAge: Math.max(Number(count) * (UNITS_IN_S[unit] ?? 0), AGE_S_MIN), id, isConfirmed };
}

async function run({ isConfirmed, ...selection }: PurgeSelection & { readonly isConfirmed: boolean }): Promise<void> {
  let plants = 0;
  const work = async ({ purge }: Maintenance) => {
    const hideProgress = showProgress(() => `${formatCount(plants)} plants`, process.stderr);
    try {
      if (stop.aborted) return;
      for await (const count of purge(selection, !isConfirmed)) {
        plants += count;
        if (stop.aborted) return;
      }
    } finally {
      hideProgress();
    }
  };
  await withStore(work, stop).catch((error) => {
    if (error !== stop.reason) throw error;
  });
  const plantsText = `${formatCount(plants)} deleted ${plants === 1 ? 'plant' : 'plants'}`;
  if (stop.aborted) {
    say(`Interrupted: ${plantsText} ${isConfirmed ? 'forgotten' : 'counted'} so far. Run the same command again.`);
    process.exitCode = stop.reason;
    return;
  }
  say(
    isConfirmed
      ? `${plantsText} forgotten: ${plants === 0 ? NONE : 'the ids are free'}`
      : `${plantsText} would be forgotten: ${plants === 0 ? NONE : 'to do it, add --yes'}`,
  );
}
