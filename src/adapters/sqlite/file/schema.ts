import { DatabaseSync } from 'node:sqlite';
import { CompiledQuery } from 'kysely';
import type { Run } from '../../sql/run.ts';
import { FileError } from './failures.ts';

/** From which version on a file is not for this program: steps before it only add what an older program need not know. */
const NEXT_MAJOR = 1_000;

/** What the positions of a feed belong to: 32 hexadecimal digits, at random. */
const NEW_IDENTITY = 'lower(hex(randomblob(16)))';

/** Ends all positions of consumers. */
export const RENEW_LOG = `update change_feed set store = ${NEW_IDENTITY}`;

/**
 * What each version of the schema adds to the former version, by `user_version`. A deleted plant stays as a row without
 * content; `changed` is greater in each transaction that writes plants, so that the rows in its order, and then in that of
 * their ids, are the feed of changes. Times are milliseconds since 1970.
 */
const STEPS: readonly string[] = [
  `create table plants (
     id integer primary key,
     name text not null,
     tag text,
     deleted integer,
     changed integer not null
   ) strict;
   create unique index plants_by_change on plants (changed);
   create index plants_by_tag on plants (tag) where tag is not null;
   create table change_feed (
     single integer primary key check (single = 1),
     store text not null,
     purged_changed integer not null default 0,
     purged_id integer not null default 0
   ) strict;
   insert into change_feed (single, store) values (1, ${NEW_IDENTITY});
   create table webhooks (
     endpoint text primary key,
     changed integer not null,
     id integer not null,
     holder text,
     expires integer not null default 0,
     failures integer not null default 0,
     failing_since integer,
     failing_changed integer,
     failing_id integer,
     reason text,
     retry_at integer not null default 0,
     parked integer not null default 0
   ) strict;`,
  `drop index plants_by_change;
   create index plants_by_change on plants (changed, id);`,
];

/**
 * @param isCommand whether an older version is refused, too, since commands change no schema
 * @throws FileError if a newer version of this program has written the file
 */
export function requireVersion(sql: DatabaseSync, path: string, isCommand = false): void {
  const version = versionOf(sql);
  if (version >= NEXT_MAJOR) {
    throw new FileError(
      `${path} belongs to a newer Plant Store (its schema is ${version}, this one knows those below ${NEXT_MAJOR}): ` +
        'run that version, or restore the backup from before the upgrade',
    );
  }
  if (isCommand && version < STEPS.length) {
    throw new FileError(`${path} has not been brought up to this version: npm start does that`);
  }
}

/**
 * Applies what is missing, each step in a transaction. A file that sqlite3's `.dump` has made has lost its version, and is an
 * earlier state, as a backup is: its feed gets a new identity.
 *
 * @throws FileError if it has only a part of the tables, or one of another program
 */
export function applySchema(sql: DatabaseSync, path: string): void {
  const texts = textsIn(sql);
  if (versionOf(sql) === 0 && texts.some((text) => /^create table "?plants\b/i.test(text))) {
    const version = dumpedVersion(texts);
    if (version === 0) {
      throw new FileError(
        `${path} has a table plants, but not all that Plant Store makes with it: ` +
          'restore the whole database, or set DATA_DIR to another folder',
      );
    }
    const adopt = `${RENEW_LOG}; pragma user_version = ${version}`;
    sql.exec(`begin immediate; ${adopt}; commit`);
  }
  for (let version = versionOf(sql) + 1; version <= STEPS.length; version++) {
    sql.exec(`begin immediate; ${STEPS[version - 1]} pragma user_version = ${version}; commit`);
  }
}

/** The newest version that has made what these texts create; 0 if none has. */
function dumpedVersion(texts: readonly string[]): number {
  const model = new DatabaseSync(':memory:');
  const isMade = STEPS.map((step) => {
    model.exec(step);
    return textsIn(model).every((text) => texts.includes(text));
  });
  model.close();
  return isMade.lastIndexOf(true) + 1;
}

/** The statements that create its tables and indexes, however their lines are broken. */
function textsIn(sql: DatabaseSync): string[] {
  const rows = sql.prepare('select sql from sqlite_schema where sql is not null').all();
  return rows.map(({ sql }) => `${sql}`.replace(/\s+/g, ' '));
}

/** For a file that was set back to a copy. */
export async function renewLog(run: Run): Promise<void> {
  await run('writes', ({ sql }) => sql.executeQuery(CompiledQuery.raw(RENEW_LOG)));
}

function versionOf(sql: DatabaseSync): number {
  const { user_version } = sql.prepare('pragma user_version').get() as { user_version: bigint };
  return Number(user_version);
}
