import { parseArgs } from 'node:util';
import type { PurgeSelection } from '../adapters/postgres/changes/plant-purge.ts';
import { parsePlantId, plantIdRule } from '../wire/plant-id.ts';

export const USAGE = `Usage: npm run purge -- --deleted-before AGE | --id ID [--yes]

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

export interface PurgeArguments {
  readonly selection: PurgeSelection;
  /** Whether to forget them, not only to count them. */
  readonly isConfirmed: boolean;
}

/** Reads the command line. @throws Error, saying what is wrong with it */
export function purgeArguments(args: readonly string[]): PurgeArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'deleted-before': { type: 'string' },
      id: { type: 'string' },
      yes: { type: 'boolean', default: false },
    },
  });
  const { id, 'deleted-before': age } = values;
  if ((id === undefined) === (age === undefined)) throw new Error('give either --deleted-before or --id');
  const selection = { minAge: age === undefined ? 0 : secondsIn(age), id: id === undefined ? undefined : idIn(id) };
  return { selection, isConfirmed: values.yes };
}

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

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
