import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fastify, type NewPlant, schema } from './fastify-app.ts';

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

fastify.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) => {
  const { id, name, tag } = request.body;
  // As a bigint: SQLite would store a number above 2^53 as a float, and refuse it as a key.
  const { changes } = insert.run(BigInt(id), name, tag ?? null);
  if (changes === 0) return reply.code(400).send({ error: 40009, message: 'id is taken' });
  return { name, tag };
});

process.stderr.write(`listens at ${await fastify.listen({ host: '127.0.0.1', port: 0 })}\n`);
