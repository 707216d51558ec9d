import { describe, expect, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { get, refusalOf, startApiServer } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

/* GET /plants: its parameters, pages and media types. Long lists are in streams.test.ts. */

const ODD_TAG = 'a b&c=d>e"f,g;h%i+j\u00E9\u{1F33F}\uFEFF\n';
const plants: NewPlant[] = [
  { id: -9223372036854775808n, name: 'the smallest' },
  { id: -5n, name: 'one', tag: ODD_TAG },
  { id: 0n, name: 'two', tag: '' },
  { id: 9007199254740993n, name: 'three\n"quoted"', tag: ODD_TAG },
  { id: 9007199254740994n, name: 'four', tag: '\u00E0' },
  { id: 9223372036854775807n, name: 'the largest', tag: ODD_TAG },
];
const jsonOf = ({ id, name, tag }: NewPlant) =>
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`;
const arrayOf = (list: readonly NewPlant[]) => `[${list.map(jsonOf).join()}]`;

const server = forAllTests(() =>
  startApiServer({ plants: fakePlants(new Map(plants.toReversed().map((plant) => [plant.id, plant]))) }),
);

const list = (query: string, headers: Record<string, string> = {}) => get(server.url, `/plants${query}`, headers);
const text = async (query: string, headers?: Record<string, string>) => (await list(query, headers)).text();

/** The next page's query, from the Link header. */
function nextOf({ headers }: Response): string | undefined {
  const link = headers.get('Link');
  if (link === null) return undefined;
  const [, target] = /^<(\?[^<>\s]*)>; rel="next"$/.exec(link) ?? [];
  expect({ link, target }).toEqual({ link, target: expect.any(String) });
  return target;
}

test('is a JSON array of whole records in ascending order of their exact ids', async () => {
  const response = await list('');
  expect([response.status, await response.text()]).toEqual([200, arrayOf(plants)]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(response.headers.get('Link')).toBeNull();
});

test('is an empty array, or no line, if there is nothing', async () => {
  const last = 2n ** 63n - 1n;
  const beyond = [`?after=${last}`, `?order=desc&after=${-last - 1n}`];
  for (const query of ['?tag=none', '?tag=none&limit=1', ...beyond, ...beyond.map((one) => `${one}&limit=1`)]) {
    const response = await list(query);
    expect([response.headers.get('Link'), await response.text()]).toEqual([null, '[]']);
    expect(await text(query, { Accept: 'application/x-ndjson' })).toBe('');
  }
});

test.each([
  ['', ''],
  [ODD_TAG, encodeURIComponent(ODD_TAG)],
  ['\u00E0', '%C3%A0'],
  ['A b', 'A+b'],
])('tag selects the plants with exactly the tag %j', async (tag, encoded) => {
  const tagged = arrayOf(plants.filter((plant) => plant.tag === tag));
  for (const limit of ['', 'limit=100&']) expect(await text(`?${limit}tag=${encoded}`)).toBe(tagged);
});

test('name goes together with all other parameters, which the Link keeps', async () => {
  const given = { limit: '1', after: '-6', tag: ODD_TAG, name: '\n"QUO', separator: '\t' };
  const Accept = 'text/csv';
  const page = await list(`?${new URLSearchParams(given)}`, { Accept });
  expect(await page.text()).toMatch(/^id\tname\ttag\r\n9007199254740993\t/);
  expect(nextOf(page)).toBeUndefined();
  const first = await list(`?${new URLSearchParams({ ...given, name: 'T' })}`, { Accept });
  const next = Object.fromEntries(new URLSearchParams(nextOf(first)));
  expect(next).toEqual({ ...given, name: 'T', after: '9007199254740993' });
  expect(await (await list(nextOf(first) ?? '', { Accept })).text()).toContain('\r\n9223372036854775807\t');
});

test.each(
  [1, 4, 2 ** 31 - 1].flatMap((limit): [number, string, NewPlant[]][] => [
    [limit, '', plants],
    [limit, '&order=desc', plants.toReversed()],
  ]),
)('limit=%i%s gives pages of so many, each leading to the next, to the end', async (limit, order, plants) => {
  const pages: string[] = [];
  for (let query: string | undefined = `?limit=${limit}${order}`; query !== undefined; ) {
    const response: Response = await list(query);
    pages.push(await response.text());
    query = nextOf(response);
  }
  const expected = Array.from({ length: Math.ceil(plants.length / limit) }, (_, n) =>
    arrayOf(plants.slice(n * limit, (n + 1) * limit)),
  );
  expect(pages).toEqual(expected);
});

const LIMIT = 'limit must be an integer from 1 to 2147483647 in decimal digits';
const ID =
  'must be an integer from -9223372036854775808 to 9223372036854775807 in decimal digits, without leading zeros or a plus sign';
const KNOWN = 'is unknown: the query may have only limit, after, order, tag, name, separator';

test.each([
  ...['0', '2147483648'].map((n) => [`limit=${n}`, LIMIT]),
  ['after=9223372036854775808', `after ${ID}`],
  ['order=up', 'order must be asc or desc'],
  ['tag=a%00b', 'tag must be a string of at most 200 characters without U+0000'],
  [`tag=${'x'.repeat(201)}`, 'tag must be a string of at most 200 characters without U+0000'],
  [`name=${'x'.repeat(101)}`, 'name must be a string of at most 100 characters without U+0000'],
  ...['Limit', '__proto__'].map((name) => [`${name}=1`, `"${name}" ${KNOWN}`]),
  ['tag=a&after=1&%74ag=b', 'tag must be given once only'],
  ...['%4', '%ED%A0%80'].map((text) => [`tag=${text}`, 'the query must be percent-encoded UTF-8']),
  ['%FF=a', 'the query must be percent-encoded UTF-8'],
])('the query %s gets 400 / 40022 and what it must be', async (query, message) => {
  expect(await refusalOf(await list(`?${query}`))).toEqual([400, 40022, message]);
});

describe('CSV', () => {
  const csv = async (query: string) => list(query, { Accept: 'text/csv' });
  const odd = '"a b&c=d>e""f,g;h%i+j\u00E9\u{1F33F}\uFEFF\n"';
  const lines = [
    'id,name,tag',
    '-9223372036854775808,the smallest,',
    `-5,one,${odd}`,
    '0,two,""',
    `9007199254740993,"three\n""quoted""",${odd}`,
    '9007199254740994,four,\u00E0',
    `9223372036854775807,the largest,${odd}`,
  ];

  test('has the columns id, name and tag, as RFC 4180 says', async () => {
    const response = await csv('');
    const type = response.headers.get('Content-Type');
    expect([response.status, type]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    expect(await response.text()).toBe(lines.map((line) => `${line}\r\n`).join(''));
  });

  test('has the names on every page, which leads to the next one with its separator', async () => {
    const next = nextOf(await csv('?limit=5&separator=;')) ?? '';
    expect(next).toBe('?limit=5&after=9007199254740994&separator=%3B');
    expect(await (await csv(next)).text()).toBe(`id;name;tag\r\n9223372036854775807;the largest;${odd}\r\n`);
    expect(await (await csv('?tag=none&limit=1')).text()).toBe('id,name,tag\r\n');
  });

  test.each([
    ['text/csv', '?separator=:', 'separator must be , or ; or a tab or |'],
    ['application/json', '?separator=;', 'separator must be left out unless Accept prefers text/csv'],
  ])('of %s refuses %s', async (Accept, query, message) => {
    expect(await refusalOf(await list(query, { Accept }))).toEqual([400, 40022, message]);
  });
});
