import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

/*
 * npm run generate [document] [target]: writes the types of the API, from the OpenAPI document at a path or URL. The
 * same as `npx openapi-typescript`, except that an int64 is a bigint, since a number would lose its last digits, and octets
 * are a Blob.
 */

const [document = 'http://127.0.0.1:3000/openapi.json', target = join(import.meta.dirname, 'plant-store.ts')] =
  process.argv.slice(2);

const types: Record<string, ts.TypeNode> = {
  int64: ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword),
  binary: ts.factory.createTypeReferenceNode('Blob'),
};
const tree = await openapiTS(new URL(document, `file://${process.cwd()}/`), {
  transform: ({ format = '' }) => types[format],
});
writeFileSync(
  target,
  `/* Made by generate.ts; do not edit. */\n\n${astToString(tree, { formatOptions: { removeComments: true } })}`,
);
