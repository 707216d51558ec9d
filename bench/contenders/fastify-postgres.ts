import postgres from 'postgres';
import { fastify, type NewPlant, plantSchema, schema } from './fastify-app.ts';

/*
 * Fastify as in fastify-pg.ts, with the client that the entries of Node have in TechEmpower's comparison: postgres.js
 * prepares each statement, and pipelines those that wait for a connection.
 */

const { DATABASE_URL = '' } = process.env;
const sql = postgres(DATABASE_URL, { max: 10 });

fastify.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) => {
  const { id, name, tag } = request.body;
  const { count } =
    await sql`INSERT INTO plants (id, name, tag) VALUES (${id}, ${name}, ${tag ?? null}) ON CONFLICT DO NOTHING`;
  if (count === 0) return reply.code(400).send({ error: 40009, message: 'id is taken' });
  return { name, tag };
});

fastify.get<{ Params: { id: number } }>('/plants/:id', { schema: plantSchema }, async (request, reply) => {
  const [row] = await sql`SELECT id, name, tag FROM plants WHERE id = ${request.params.id}`;
  if (row === undefined) return reply.code(404).send({ error: 40401, message: 'not found' });
  return { id: Number(row.id), name: row.name, ...(row.tag !== null && { tag: row.tag }) };
});

process.stderr.write(`listens at ${await fastify.listen({ host: '127.0.0.1', port: 0 })}\n`);
