import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serve } from './fastify-app.ts';

/*
 * What people pick who want no database server: Fastify as in fastify-pg.ts, and SQLite in the folder DATA_DIR. In WAL mode
 * with synchronous=FULL each commit is synced to the disk. By Node's own binding: better-sqlite3 is the same SQLite, called
 * in the same way.
 */

const { DATA_DIR = '.' } = process.env;
const database = new DatabaseSync(join(DATA_DIR, 'plants.sqlite'));
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table if not exists plants (id integer primary key, name text not null, tag text)`);
const insert = database.prepare('insert into plants (id, name, tag) values (?, ?, ?) on conflict do nothing');

// As a bigint: SQLite would store a number above 2^53 as a float, and refuse it as a key.
await serve(({ id, name, tag = null }) => insert.run(BigInt(id), name, tag).changes);
