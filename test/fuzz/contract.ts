import { Validator } from '@seriousme/openapi-schema-validator';
import { Compile } from 'typebox/compile';
import type { RawResponse } from '../support/http-bytes.ts';

/* The running service's own OpenAPI document, and whether an answer keeps to it. */

/** A JSON Schema as the document has them. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}

interface Operation {
  /** A response without content has no body. */
  readonly responses: Readonly<Record<string, Partial<Content>>>;
}

/** Without references. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Error: Schema } };
}

/**
 * Reads the document of a service. Any of its operations may have been asked for: what is wrong with a request can have
 * changed the method or the path.
 *
 * @returns what says what is wrong with an answer, undefined if nothing is
 */
export async function contractOf(url: string): Promise<(answer: RawResponse) => string | undefined> {
  const specification = await (await fetch(`${url}/openapi.json`)).json();
  const document = new Validator().resolveRefs({ specification }) as unknown as Document;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const all = operations.flatMap(({ responses }) => Object.entries(responses));
  const responses = all.flatMap(([status, { content }]) =>
    content ? [checkable(Number(status), content['application/json'].schema)] : [],
  );
  const bodiless = all.flatMap(([status, { content }]) => (content ? [] : [Number(status)]));
  // Of no operation: a path or a method that the document does not have.
  for (const status of [404, 405]) responses.push(checkable(status, document.components.schemas.Error));
  /** The page for people, which is no operation: at / for who accepts HTML. */
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
  return ({ status, headers, body }) => {
    const type = headers.get('content-type');
    const isPage = status === 200 && type === 'text/html; charset=utf-8' && (body === page || body === '');
    if (isPage) return undefined;
    if (bodiless.includes(status)) return body === '' ? undefined : `${status} has the body ${body}`;
    const documented = responses.filter((response) => response.status === status);
    if (documented.length === 0) return `the status ${status} is not in the document`;
    if (status >= 500) return `the status is ${status}`;
    if (type === 'application/x-ndjson') return undefined;
    if (type !== 'application/json') return `the type is ${type}`;
    // The response to HEAD has none.
    if (body === '') return undefined;
    const value: unknown = JSON.parse(body);
    const fitting = documented.filter(({ validator }) => validator.Check(value));
    if (fitting.length === 0) return `the body does not fit the document: ${body}`;
    const known = fitting.flatMap(({ names }) => names);
    const extra = Array.isArray(value) ? [] : Object.keys(value as object).filter((name) => !known.includes(name));
    return extra.length > 0 ? `the body has more than the document: ${extra}` : undefined;
  };
}

const checkable = (status: number, schema: Schema) => ({
  status,
  names: Object.keys(schema.properties ?? {}),
  validator: Compile(schema),
});
