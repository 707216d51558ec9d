import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { jsonMembers } from '../../src/wire/json-members.ts';
import { writtenString } from '../support/plants/json-forms.ts';

const NAME = 'id';
const keys = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(NAME, 'i', 'ID', '', '__proto__', '"id"', '\\', 'i"d', '{"id":', '\u0130d') },
  fc.string({ unit: 'binary' }),
);
const hard = fc.constantFrom('"', '\\', '\\"', '"id":1', '{', '}', '[', ']', ',', ':', '\\\\', '\\\\"', '{"id":1}');
const texts = fc.array(hard, { maxLength: 4 }).map((parts) => parts.join(''));
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue({ maxDepth: 1 }),
    texts,
    fc.dictionary(keys, tie('value'), { maxKeys: 3 }),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
})).value;

/** Objects as text, with duplicate keys, escapes and white space in every place that allows some. */
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  ');
const members = fc
  .record({ key: keys, value: values, indent: fc.constantFrom(0, 2, '\t'), space })
  .chain(({ key, value, indent, space }) =>
    writtenString(key).map((written) => {
      const source = JSON.stringify(value, null, indent);
      return { key, source, json: [written, ':', source].join(space) };
    }),
  );
const objects = fc.tuple(fc.array(members, { maxLength: 6 }), space).map(([list, space]) => {
  const json = [space, '{', list.map((member) => member.json).join(`${space},${space}`), '}', space].join(space);
  return { list, json };
});

// What JSON.parse makes of the object is no measure: V8 may read an escaped key as another one (nodejs/node#63785).
test('finds the last member of that name and the other keys, as they were written, whatever else is in the object', () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(NAME, 'i', 'ID', 'absent'), ({ json, list }, name) => {
      expect(() => JSON.parse(json)).not.toThrow();
      const { requested, otherKeys = [] } = jsonMembers(json, [name]) ?? {};
      expect(requested?.get(name)).toBe(list.findLast(({ key }) => key === name)?.source);
      expect(otherKeys.map((key) => JSON.parse(key))).toEqual(list.map(({ key }) => key).filter((key) => key !== name));
    }),
    { numRuns: 1_000 },
  );
});

/** Valid objects, damaged in up to three places by what matters in JSON. */
const marks = fc.constantFrom(...'{}[]",:\\ \n\t\u000001-.e+u', 'true', 'nul', '\\u00', '\uFEFF', '');
const damages = fc.array(fc.record({ at: fc.nat(200), cut: fc.nat(2), put: marks }), { maxLength: 3 });
const damaged = fc
  .tuple(objects, damages)
  .map(([{ json }, list]) =>
    list.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), json),
  );

test('takes a text for JSON exactly if JSON.parse does', () => {
  fc.assert(
    fc.property(fc.oneof(damaged, texts, fc.json()), (text) => {
      const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
      expect(outcome(() => jsonMembers(text, []) !== undefined)).toBe(outcome(() => isObject(JSON.parse(text))));
    }),
    { numRuns: 1_000 },
  );
});

function outcome(read: () => boolean): string {
  try {
    return read() ? 'an object' : 'another value';
  } catch (error) {
    return error instanceof SyntaxError ? 'not JSON' : `${error}`;
  }
}
