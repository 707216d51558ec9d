import Fastify from 'fastify';
import { Pool } from 'pg';

/*
 * What Fastify's documentation recommends: schemas for the body and the answer, a hook for the token, its own logger,
 * and pg's pool with a statement per request. It gives less than the service does: JSON.parse rounds ids above 2^53,
 * and the same plant sent again is refused.
 */

const { ACCESS_TOKENS, DATABASE_URL } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 });
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
  const { rowCount } = await pool.query(
    'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [id, name, tag ?? null],
  );
  if (rowCount === 0) return reply.code(400).send({ error: 40009, message: 'id is taken' });
  return { name, tag };
});

process.stderr.write(`listens at ${await fastify.listen({ host: '127.0.0.1', port: 0 })}\n`);
