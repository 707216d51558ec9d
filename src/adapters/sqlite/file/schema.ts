import type { DatabaseSync } from 'node:sqlite';
import { FileError } from './failures.ts';

/** The first schema version that this program cannot use: smaller steps only add what older programs may ignore. */
const NEXT_MAJOR = 1_000;

/** The identity to which the positions of a feed belong: 32 random hexadecimal digits. */
const NEW_IDENTITY = 'lower(hex(randomblob(16)))';

/** Invalidates all positions of consumers. */
export const RENEW_LOG = `update change_feed set store = ${NEW_IDENTITY}`;

/**
 * What each version of the schema, by `user_version`, adds to the one before. A deleted plant stays as a row without content.
 * `changed` grows with each transaction that writes plants, so the rows in the order of `changed`, then of their ids, are the
 * feed of changes. Times are milliseconds since 1970.
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
 * @param isCommand whether to refuse an older version, too, since commands change no schema
 * @throws FileError if a newer version of this program has written the file, or the file has lost its version
 */
export function requireVersion(sql: DatabaseSync, path: string, isCommand = false): void {
  const version = versionOf(sql);
  if (version >= NEXT_MAJOR) {
    throw new FileError(
      `${path} belongs to a newer Plant Store (its schema is ${version}, this one knows those below ${NEXT_MAJOR}): ` +
        'run that version, or restore the backup from before the upgrade',
    );
  }
  if (version === 0 && sql.prepare("select 1 from sqlite_schema where name = 'plants'").get() !== undefined) {
    throw new FileError(
      `${path} has a table plants, but no version, which sqlite3's .dump leaves out: if it is a whole copy, set the ` +
        `user_version of its original, which is ${STEPS.length} now, and run npm run migrate -- renew-feed`,
    );
  }
  if (isCommand && version < STEPS.length) {
    throw new FileError(`${path} has not been brought up to this version: npm start does that`);
  }
}

/** Applies the missing steps, each in a transaction. */
export function applySchema(sql: DatabaseSync): void {
  for (let version = versionOf(sql) + 1; version <= STEPS.length; version++) {
    sql.exec(`begin immediate; ${STEPS[version - 1]} pragma user_version = ${version}; commit`);
  }
}

function versionOf(sql: DatabaseSync): number {
  const { user_version } = sql.prepare('pragma user_version').get() as { user_version: bigint };
  return Number(user_version);
}
