import { expect, test } from '@jest/globals';
import { importArguments } from '../../src/config/import-arguments.ts';

test.each([
  [['plants.csv'], { path: 'plants.csv', format: 'csv', rejectedPath: 'plants.csv.rejected.ndjson' }],
  [['a/b.JSONL'], { path: 'a/b.JSONL', format: 'ndjson', rejectedPath: 'a/b.JSONL.rejected.ndjson' }],
  [['b.txt', '--format', 'ndjson'], { path: 'b.txt', format: 'ndjson', rejectedPath: 'b.txt.rejected.ndjson' }],
  [['-', '--format', 'csv'], { path: '-', format: 'csv', rejectedPath: 'stdin.rejected.ndjson' }],
  [['a.csv', '--rejected', 'no.ndjson'], { path: 'a.csv', format: 'csv', rejectedPath: 'no.ndjson' }],
])('understands %j', (args, understood) => {
  expect(importArguments(args)).toEqual(understood);
});

test.each([
  [[]],
  [['plants.txt']],
  [['a.csv', 'b.csv']],
  [['-']],
  [['a.csv', '--format', 'xml']],
  [['a.csv', '--format', 'constructor']],
  [['a.csv', '--loud']],
])('refuses %j with its usage', (args) => {
  expect(() => importArguments(args)).toThrow(/^Usage: npm run import -- FILE/);
});

test('refuses to write over the list', () => {
  expect(() => importArguments(['a.csv', '--rejected', './a.csv'])).toThrow('a file of its own');
});
