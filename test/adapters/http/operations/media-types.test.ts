import { expect, test } from '@jest/globals';
import { preferredType } from '../../../../src/adapters/http/operations/media-types.ts';

const JSON_TYPE = 'application/json';
const LINES = 'application/x-ndjson';
const types = [JSON_TYPE, LINES] as const;

test.each<[string | undefined, string | undefined]>([
  [undefined, JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/json', JSON_TYPE],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['application/x-ndjson', LINES],
  ['application/x-ndjson, */*', JSON_TYPE],
  ['application/x-ndjson;q=0.1, */*', JSON_TYPE],
  ['application/json;q=0.001, application/x-ndjson;q=0', JSON_TYPE],
  ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', JSON_TYPE],
  ['application/json ; q=0.2 , application/x-ndjson ; Q=0.3', LINES],
  ['*/*;charset=utf-8', JSON_TYPE],
  ['application/json;v=1;q=0', undefined],
  ['text/html', undefined],
  ['application/json;q=0, application/x-ndjson;q=0', undefined],
  ['application/*;q=0, */*', undefined],
  ['json', undefined],
])('Accept: %s gets %s', (accept, type) => {
  expect(preferredType(accept, types)).toBe(type);
});
