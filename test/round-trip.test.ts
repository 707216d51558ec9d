import { describe, expect, test } from '@jest/globals';
import fc, { type Arbitrary } from 'fast-check';
import { sql } from 'kysely';
import type { Database } from '../src/adapters/postgres/database.ts';
import { post, startApiServer } from './support/api-server.ts';
import { openEmbedded } from './support/embedded-template.ts';
import { atEnd, forAllTests } from './support/lifetimes.ts';
import { int64, writtenInteger, writtenString } from './support/plants/json-forms.ts';
import { connect, migratedDatabase, plantsIn } from './support/test-database.ts';

/* The whole way: JSON over HTTP, through the domain, into the database, read back by plain SQL. */

async function openPostgres(): Promise<Database> {
  const database = connect((await migratedDatabase()).url);
  atEnd(database.close);
  return database;
}

interface Sample {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
  /** The record as a JSON body, in one of the many ways to write it. */
  readonly body: string;
}

const hard = ["'; drop table plants; --", '%s $1 ?', '\\N', 'null', 'e\u0301', ...'\uFEFF\u2028"\uFFFF\u0001'];
const random = fc.string({ unit: 'binary', maxLength: 100 });
const text = fc
  .oneof(
    { weight: 3, arbitrary: random },
    // What decoders of UTF-8 take for a byte order mark.
    random.map((end) => `\uFEFF${end}`),
    fc.array(fc.constantFrom(...hard), { maxLength: 3 }).map((parts) => parts.join('')),
  )
  .filter((text) => !text.includes('\0'));

const samples: Arbitrary<Sample> = fc
  .record({ id: int64, name: text, tag: fc.option(text, { nil: undefined }) })
  .chain(({ id, name, tag }) =>
    fc
      .tuple(writtenInteger(id), writtenString(name), writtenString(tag ?? ''), fc.boolean())
      .map(([writtenId, writtenName, writtenTag, reversed]) => {
        const members = [`"id":${writtenId}`, `"name":${writtenName}`];
        if (tag !== undefined) members.push(`"tag":${writtenTag}`);
        return { id, name, tag, body: `{${(reversed ? members.toReversed() : members).join(', ')}}` };
      }),
  );

describe.each<[string, () => Promise<Database>]>([
  ['Postgres', openPostgres],
  ['the embedded database', openEmbedded],
])('on %s', (_name, open) => {
  const database = forAllTests(open);
  const server = forAllTests(() => startApiServer({ plants: plantsIn(database) }));

  async function create(body: string): Promise<{ status: number; json: unknown }> {
    const answer = await post(server.url, body);
    return { status: answer.status, json: await answer.json() };
  }

  test('any int64 and any text survive HTTP and SQL exactly, once and again', async () => {
    const property = fc.asyncProperty(samples, async ({ id, name, tag, body }) => {
      const created = { status: 200, json: tag === undefined ? { name } : { name, tag } };
      expect(await create(body)).toEqual(created);
      expect(await create(body)).toEqual(created);

      const other = JSON.stringify({ name: `${name}.`, ...(tag !== undefined && { tag }) });
      const conflict = { status: 400, json: { error: 40009, message: `id ${id} belongs to a different plant` } };
      expect(await create(other.replace('{', `{"id":${id},`))).toEqual(conflict);
      const tagged = JSON.stringify({ name, ...(tag === undefined && { tag: '' }) });
      expect(await create(tagged.replace('{', `{"id":${id},`))).toEqual(conflict);

      const { rows } = await sql`select id::text, name, tag from plants`.execute(database.sql);
      expect(rows).toEqual([{ id: `${id}`, name, tag: tag ?? null }]);
    });
    // One plant at a time, so that its id is free, however often the edges come up.
    await fc.assert(
      property.beforeEach(async () => {
        await sql`delete from plants`.execute(database.sql);
      }),
      { numRuns: 300 },
    );
  });
});
