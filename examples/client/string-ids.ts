import { text } from 'node:stream/consumers';

/*
 * Makes an OpenAPI document whose int64s are strings, for clients that use exactFetch:
 *
 *   curl -s http://127.0.0.1:3000/openapi.json | npm run --silent string-ids -w examples/client > openapi.json
 */

const document: unknown = JSON.parse(await text(process.stdin), (_key, part) => {
  const { format, description } = (part ?? {}) as { format?: string; description?: string };
  return format === 'int64' ? { type: 'string', pattern: '^-?\\d+$', description } : part;
});
console.log(JSON.stringify(document, null, 2));
