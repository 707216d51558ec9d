import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { CLOSE, get, post, startApiServer, TOKEN } from './support/api-server.ts';
import { embeddedPlants, openEmbedded, plantsInFile } from './support/embedded-store.ts';
import { forAllTests } from './support/lifetimes.ts';
import { int64, writtenInteger, writtenString } from './support/plants/json-forms.ts';
import { connect, migratedDatabase, plantsIn, storedPlants } from './support/test-database.ts';

/* The whole way: JSON over HTTP, through the domain, into the database, read back by plain SQL. */

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

/** A record, and as a JSON body in one of the many ways to write it. */
const samples = fc.record({ id: int64, name: text, tag: fc.option(text) }).chain((row) =>
  fc
    .tuple(writtenInteger(row.id), writtenString(row.name), writtenString(row.tag ?? ''), fc.boolean())
    .map(([id, name, tag, reversed]) => {
      const members = [`"id":${id}`, `"name":${name}`, ...(row.tag === null ? [] : [`"tag":${tag}`])];
      return { row, body: `{${(reversed ? members.toReversed() : members).join(', ')}}` };
    }),
);

/** Plants, everything that is stored of them, and how to begin anew. */
async function onPostgres() {
  const database = connect((await migratedDatabase()).url);
  return {
    plants: plantsIn(database),
    all: () => storedPlants(database),
    clear: async () => void (await sql`delete from plants`.execute(database.sql)),
  };
}

async function onEmbedded() {
  const file = await openEmbedded();
  return {
    plants: embeddedPlants(file),
    all: () => plantsInFile(file),
    clear: async () => file.sql.exec('delete from plants'),
  };
}

describe.each<[string, () => ReturnType<typeof onPostgres | typeof onEmbedded>]>([
  ['Postgres', onPostgres],
  ['the embedded database', onEmbedded],
])('on %s', (_name, open) => {
  const subject = forAllTests(open);
  const server = forAllTests(() => startApiServer({ plants: subject.plants }));

  async function stored() {
    const plants = await subject.all();
    const rows = plants.map(({ id, name, tag = null }) => ({ id, name, tag }));
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  test('any int64 and any text survive HTTP and SQL exactly, once and again', async () => {
    async function create(body: string): Promise<[status: number, json: unknown]> {
      const response = await post(server.url, body);
      return [response.status, await response.json()];
    }
    const property = fc.asyncProperty(samples, async ({ row, body }) => {
      const { id, name, tag } = row;
      const plant = tag === null ? { name } : { name, tag };
      for (const _ of [1, 2]) expect(await create(body)).toEqual([200, plant]);
      const conflict = { error: 40009, message: `id ${id} belongs to a different plant` };
      for (const other of [{ ...plant, name: `${name}.` }, tag === null ? { name, tag: '' } : { name }]) {
        expect(await create(JSON.stringify(other).replace('{', `{"id":${id},`))).toEqual([400, conflict]);
      }
      expect(await stored()).toEqual([row]);
    });
    // One plant at a time, so that its id is free, however often the edges come up.
    await fc.assert(
      property.beforeEach(async () => void (await subject.clear())),
      { numRuns: 40 },
    );
  });

  test('a list, and then an import into an empty store, bring the same table back', async () => {
    const lists = fc.uniqueArray(samples, { selector: ({ row }) => row.id, minLength: 1, maxLength: 30 });
    const separators = fc.constantFrom(',', ';', '\t', '|');
    const property = fc.asyncProperty(lists, separators, async (list, separator) => {
      const table = list.map(({ row }) => row).sort((a, b) => (a.id < b.id ? -1 : 1));
      /** Expects the table after an import into an empty one. */
      async function expectImported(body: string, type: string): Promise<void> {
        await subject.clear();
        const headers = { ...CLOSE, Authorization: `Bearer ${TOKEN}`, 'Content-Type': type };
        const response = await fetch(`${server.url}/import`, { method: 'POST', headers, body });
        expect(await response.text()).toContain(`"created":${list.length},"changed":0,`);
        expect(await stored()).toEqual(table);
      }
      await expectImported(list.map(({ body }) => `${body}\n`).join(''), 'application/x-ndjson');
      const streamed = await get(server.url, '/plants', { ...CLOSE, Accept: 'application/x-ndjson' });
      await expectImported(await streamed.text(), 'application/x-ndjson');
      const cell = (text: string | null) => (text === null ? '' : `"${text.replaceAll('"', '""')}"`);
      const rows = table.map(({ id, name, tag }) => [cell(tag), id, cell(name)].join(separator));
      await expectImported([['tag', 'id', 'name'].join(separator), ...rows].join('\r\n'), 'text/csv');
    });
    await fc.assert(property, { numRuns: 15 });
  });
});
