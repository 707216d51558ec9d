import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../src/formats/exact-json.ts';
import { jsonParser } from '../../src/formats/json-parser.ts';
import { NewPlant } from '../../src/formats/schemas.ts';
import { int64, writtenInteger, writtenString } from '../support/plants/json-forms.ts';

const MANY = 200_000;

const parse = jsonParser(NewPlant);
const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('{"id":1}', '"', '\\', '\\"id":1', ':'));

/** Members as text, of which some have an id, or another member, within another object. */
const members = (name: string, value: fc.Arbitrary<unknown>, written: fc.Arbitrary<string>) =>
  fc.tuple(fc.constant(name), value, writtenString(name), written);
const id = int64.chain((value) => members('id', fc.constant(value), writtenInteger(value)));
const text = (name: string) => texts.chain((value) => members(name, fc.constant(value), writtenString(value)));
const other = fc
  .tuple(fc.oneof(fc.constantFrom('y', '\\u0', '\\', '__proto__', 'Id'), texts), fc.jsonValue({ maxDepth: 2 }), id)
  .filter(([name]) => !['id', 'name', 'tag'].includes(name))
  .chain(([name, value, [, , key, inner]]) =>
    members(name, fc.constant(undefined), fc.constantFrom(JSON.stringify(value), `{${key}:${inner}}`)),
  );

test('reads the last of each member, its id exact, whatever else is there', () => {
  const lists = fc.tuple(id, text('name'), fc.array(fc.oneof(id, text('name'), text('tag'), other), { maxLength: 6 }));
  fc.assert(
    fc.property(lists, fc.constantFrom('', ' ', '\r\n\t'), ([first, second, others], space) => {
      const all = [first, second, ...others];
      const json = `${space}{${all.map(([, , key, value]) => [space, key, ':', value, ''].join(space)).join()}}`;
      const expected = Object.fromEntries(all.map(([name, value]) => [name, value]));
      const { id, name, tag } = parse(Buffer.from(json.toWellFormed()));
      const wellFormed = (one: unknown) => (typeof one === 'string' ? one.toWellFormed() : one);
      expect([id, name, tag].map(wellFormed)).toEqual([expected.id, expected.name, expected.tag].map(wellFormed));
    }),
    { numRuns: 1_000 },
  );
});

test.each<[string, string[], bigint | number]>([
  ['a fractional part', ['0.1', '1.5', '-1e-1', '1e-999999999', '1.00000000000000000000001'], Number.NaN],
  ['a fractional part that a double hides', ['0.99999999999999999999', `7.${'0'.repeat(MANY)}1`], Number.NaN],
  ['more than 19 digits', ['10000000000000000000', '1e19', '-1e999999999', `1e${'9'.repeat(400)}`], Number.NaN],
  ['200,000 digits', ['9'.repeat(MANY)], Number.NaN],
  ['19 digits beyond an int64, which the domain refuses', ['-9999999999999999999'], -9999999999999999999n],
  ['zero and a small exponent', ['-0.0E-999999999'], 0n],
  ['200,000 trailing zeros that the exponent takes back', [`7${'0'.repeat(MANY)}e-${MANY}`], 7n],
  ['200,000 zeros in front of the exponent', [`7e${'0'.repeat(MANY)}1`], 70n],
])('reads an id with %s as an integer if it is one', (_what, sources, id) => {
  for (const source of sources) expect([source, parseJson(`{"id":${source}}`)]).toEqual([source, { id }]);
});
