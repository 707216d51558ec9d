import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import Fastify from 'fastify';

/*
 * What people pick who want no database server: Fastify as in fastify-pg.ts, and SQLite in the folder DATA_DIR. In WAL mode
 * with synchronous=FULL each commit is synced to the disk. By Node's own binding: better-sqlite3 is the same SQLite, called
 * in the same way.
 */

const { ACCESS_TOKENS, DATA_DIR = '.' } = process.env;
const database = new DatabaseSync(join(DATA_DIR, 'plants.sqlite'));
database.exec(`
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table if not exists plants (id integer primary key, name text not null, tag text)`);
const insert = database.prepare('insert into plants (id, name, tag) values (?, ?, ?) on conflict do nothing');
const fastify = Fastify({ logger: true });

const name = { type: 'string' };
const tag = { type: 'string' };
const error = { type: 'object', properties: { error: { type: 'integer' }, message: { type: 'string' } } };
const schema = {
  body: { type: 'object', properties: { id: { type: 'integer' }, name, tag }, required: ['id', 'name'] },
  response: { 200: { type: 'object', properties: { name, tag }, required: ['name'] }, 400: error, 401: error },
};

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

fastify.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${ACCESS_TOKENS}`) {
    return reply.code(401).send({ error: 40100, message: 'unauthorized' });
  }
});

fastify.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) => {
  const { id, name, tag } = request.body;
  // As a bigint: SQLite would store a number above 2^53 as a float, and refuse it as a key.
  const { changes } = insert.run(BigInt(id), name, tag ?? null);
  if (changes === 0) return reply.code(400).send({ error: 40009, message: 'id is taken' });
  return { name, tag };
});

process.stderr.write(`listens at ${await fastify.listen({ host: '127.0.0.1', port: 0 })}\n`);
