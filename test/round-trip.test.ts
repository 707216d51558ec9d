import { describe, expect, test } from '@jest/globals';
import fc, { type Arbitrary } from 'fast-check';
import { sql } from 'kysely';
import type { Database } from '../src/adapters/postgres/database.ts';
import { CLOSE, get, post, startApiServer, TOKEN } from './support/api-server.ts';
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

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
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
      { numRuns: 100 },
    );
  });

  /** The table, after an import into it. */
  async function imported(list: string, type: string, count: number) {
    const headers = { ...CLOSE, Authorization: `Bearer ${TOKEN}`, 'Content-Type': type };
    const response = await fetch(`${server.url}/import`, { method: 'POST', headers, body: list });
    const result = await response.text();
    expect([result, response.status]).toEqual([expect.stringContaining(`"created":${count},"changed":0,`), 200]);
    const { rows } = await sql<Row>`select id::text, name, tag from plants order by plants.id`.execute(database.sql);
    return rows;
  }

  const clear = () => sql`delete from plants`.execute(database.sql);

  test('a list, and then an import into an empty store, bring the same table back', async () => {
    const lists = fc.uniqueArray(samples, { selector: ({ id }) => id, minLength: 1, maxLength: 30 });
    const separators = fc.constantFrom(',', ';', '\t');
    const property = fc.asyncProperty(lists, separators, async (list, separator) => {
      const lines = list.map(({ body }) => `${body}\n`).join('');
      const table = await imported(lines, 'application/x-ndjson', list.length);
      const byId = list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      expect(table).toEqual(byId.map(({ id, name, tag }) => ({ id: `${id}`, name, tag: tag ?? null })));
      const streamed = await (await get(server.url, '/plants', { ...CLOSE, Accept: 'application/x-ndjson' })).text();
      await clear();
      expect(await imported(streamed, 'application/x-ndjson', list.length)).toEqual(table);
      const cell = (text: string | null) => (text === null ? '' : `"${text.replaceAll('"', '""')}"`);
      const rows = table.map(({ id, name, tag }) => [cell(tag), id, cell(name)].join(separator));
      await clear();
      const csv = [['tag', 'id', 'name'].join(separator), ...rows].join('\r\n');
      expect(await imported(csv, 'text/csv', list.length)).toEqual(table);
    });
    await fc.assert(property.beforeEach(clear), { numRuns: 30 });
  });
});
