import { Readable } from 'node:stream';
import { Pool } from 'pg';
import { error, fastify, type NewPlant, name, serve, tag } from './fastify-app.ts';

/*
 * What Fastify's documentation recommends: schemas for the body and the answer, a hook for the token, its own logger,
 * and pg's pool with a statement per request. It gives less than the service does: JSON.parse rounds ids above 2^53,
 * and the same plant sent again is refused.
 */

const { DATABASE_URL, POOL_SIZE = 10 } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, max: Number(POOL_SIZE) });

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

const recordOf = ({ id, name, tag }: Row) => ({ id: Number(id), name, ...(tag !== null && { tag }) });

const plantSchema = {
  params: { type: 'object', properties: { id: { type: 'integer' } } },
  response: {
    200: { type: 'object', properties: { id: { type: 'integer' }, name, tag }, required: ['id', 'name'] },
    404: error,
  },
};

fastify.get<{ Params: { id: number } }>('/plants/:id', { schema: plantSchema }, async (request, reply) => {
  const { rows } = await pool.query<Row>('SELECT id, name, tag FROM plants WHERE id = $1', [request.params.id]);
  return rows[0] === undefined ? reply.code(404).send({ error: 40401, message: 'not found' }) : recordOf(rows[0]);
});

fastify.put<{ Params: { id: number }; Body: Omit<NewPlant, 'id'> }>(
  '/plants/:id',
  { schema: { ...plantSchema, body: { type: 'object', properties: { name, tag }, required: ['name'] } } },
  async ({ params: { id }, body }, reply) => {
    const text = 'UPDATE plants SET name = $2, tag = $3 WHERE id = $1';
    const { rowCount } = await pool.query(text, [id, body.name, body.tag ?? null]);
    if (rowCount === 0) return reply.code(404).send({ error: 40401, message: 'not found' });
    return { id, ...body };
  },
);

const MIN_ID = '-9223372036854775808';
const pageAfter = async (after: string, limit: number) =>
  (await pool.query<Row>('SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])).rows;

// Without a schema of the response: the array is sent as JSON.stringify writes it.
fastify.get<{ Querystring: { limit?: number; after?: string } }>('/plants', async (request, reply) => {
  const { limit, after = MIN_ID } = request.query;
  if (limit !== undefined) return (await pageAfter(after, limit)).map(recordOf);
  return reply.type('application/json').send(Readable.from(all()));
});

async function* all(): AsyncIterable<string> {
  let separator = '[';
  for (let after = MIN_ID; ; ) {
    const rows = await pageAfter(after, 1_000);
    const last = rows.at(-1);
    if (last === undefined) break;
    yield separator + rows.map((row) => JSON.stringify(recordOf(row))).join();
    separator = ',';
    after = last.id;
  }
  yield separator === '[' ? '[]' : ']';
}

const INSERT = 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING';
await serve(async ({ id, name, tag = null }) => (await pool.query(INSERT, [id, name, tag])).rowCount);
