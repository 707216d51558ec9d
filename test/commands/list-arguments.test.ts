import { expect, test } from '@jest/globals';
import { exportArguments, importArguments } from '../../src/commands/list-arguments.ts';

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
  [[], 'no list is named: name a file, or - for standard input'],
  [['plants.txt'], 'plants.txt ends with none of .ndjson, .jsonl and .csv: add --format ndjson or --format csv'],
  [['csv'], 'csv ends with none of .ndjson, .jsonl and .csv: add --format ndjson or --format csv'],
  [['-'], '- has no extension: add --format ndjson or --format csv'],
  [['a.csv', 'b.csv'], 'one list at a time, not a.csv, b.csv'],
  [['a.csv', '--format', 'xml'], '--format must be ndjson or csv, not xml'],
  [['a.csv', '--format', 'constructor'], '--format must be ndjson or csv, not constructor'],
  [['a.csv', '--format'], "Option '--format <value>' argument missing"],
  [['a.csv', '--loud'], "Unknown option '--loud'"],
])('of an import, refuses %j, and says why', (args, why) => {
  expect(() => importArguments(args)).toThrow(why);
});

test.each([
  [[], 'no list is named: name a file, or - for standard output'],
  [['a.csv', '--after', '01'], '--after must be an integer from'],
  [['a.csv', '--after', '-5'], "use '--after=-"],
])('of an export, refuses %j, and says why', (args, why) => {
  expect(() => exportArguments(args)).toThrow(why);
});
