import Fastify from 'fastify';

/* What the contenders with Fastify have in common: the logger, the token and the schema of a create. */

const { ACCESS_TOKENS } = process.env;
export const fastify = Fastify({ logger: true });

export const name = { type: 'string' };
export const tag = { type: 'string' };
const error = { type: 'object', properties: { error: { type: 'integer' }, message: { type: 'string' } } };
/** Of the operation that creates a plant. */
export const schema = {
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

/** Of the one that reads a plant. */
export const plantSchema = {
  params: { type: 'object', properties: { id: { type: 'integer' } } },
  response: {
    200: { type: 'object', properties: { id: { type: 'integer' }, name, tag }, required: ['id', 'name'] },
    404: error,
  },
};
