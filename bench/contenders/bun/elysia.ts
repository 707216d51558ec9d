import { SQL } from 'bun';
import { Elysia, t } from 'elysia';

/*
 * What Elysia's and Bun's documentation recommend: schemas for body and response, and Bun's own client for Postgres, whose
 * statements are prepared and pipelined. It logs each request as a line of JSON, as the other contenders do.
 */

const { DATABASE_URL = '', ACCESS_TOKENS } = process.env;
const sql = new SQL(DATABASE_URL, { max: 10 });
const log = Bun.stdout.writer();

const name = t.String();
const tag = t.Optional(t.String());
const failure = t.Object({ error: t.Integer(), message: t.String() });

const app = new Elysia()
  .derive(() => ({ start: performance.now() }))
  .onBeforeHandle(({ headers, status }) => {
    if (headers.authorization !== `Bearer ${ACCESS_TOKENS}`)
      return status(401, { error: 40100, message: 'unauthorized' });
  })
  .onAfterResponse(({ request, set, start }) => {
    const { method, url } = request;
    const durationMs = performance.now() - start;
    log.write(`${JSON.stringify({ time: Date.now(), method, url, status: set.status ?? 200, durationMs })}\n`);
    log.flush();
  })
  .post(
    '/plants',
    async ({ body: { id, name, tag }, status }) => {
      const { count } =
        await sql`INSERT INTO plants (id, name, tag) VALUES (${id}, ${name}, ${tag ?? null}) ON CONFLICT DO NOTHING`;
      if (count === 0) return status(400, { error: 40009, message: 'id is taken' });
      return tag === undefined ? { name } : { name, tag };
    },
    {
      body: t.Object({ id: t.Number(), name, tag }),
      response: { 200: t.Object({ name, tag }), 400: failure, 401: failure },
    },
  )
  .listen({ hostname: '127.0.0.1', port: 0 });

process.stderr.write(`listens at http://127.0.0.1:${app.server?.port}\n`);
