import Fastify from 'fastify';

/* What the contenders with Fastify have in common: the logger, the token, and the routes with their schemas. */

const { ACCESS_TOKENS, LOG_LEVEL } = process.env;
export const fastify = Fastify({ logger: LOG_LEVEL !== 'silent' });

export const name = { type: 'string' };
export const tag = { type: 'string' };
export const error = { type: 'object', properties: { error: { type: 'integer' }, message: { type: 'string' } } };
const schema = {
  body: { type: 'object', properties: { id: { type: 'integer' }, name, tag }, required: ['id', 'name'] },
  response: { 200: { type: 'object', properties: { name, tag }, required: ['name'] }, 400: error, 401: error },
};

export interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

fastify.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${ACCESS_TOKENS}`) {
    return reply.code(401).send({ error: 40100, message: 'unauthorized' });
  }
});

/** Starts it with what stores a plant, and resolves to the number of rows that it has made. */
export async function serve(insert: (plant: NewPlant) => Promise<number | null> | number | bigint): Promise<void> {
  fastify.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) => {
    const { name, tag } = request.body;
    if (!(await insert(request.body))) return reply.code(400).send({ error: 40009, message: 'id is taken' });
    return { name, tag };
  });
  process.stderr.write(`listens at ${await fastify.listen({ host: '127.0.0.1', port: 0 })}\n`);
}
