import postgres from 'postgres';
import { serve } from './fastify-app.ts';

/*
 * Fastify as in fastify-pg.ts, with the client that the entries of Node have in TechEmpower's comparison: postgres.js
 * prepares each statement, and pipelines those that wait for a connection.
 */

const { DATABASE_URL = '' } = process.env;
const sql = postgres(DATABASE_URL, { max: 10 });

await serve(
  async ({ id, name, tag = null }) =>
    (await sql`INSERT INTO plants (id, name, tag) VALUES (${id}, ${name}, ${tag}) ON CONFLICT DO NOTHING`).count,
);
