import { Validator } from '@seriousme/openapi-schema-validator';
import { Compile } from 'typebox/compile';
import type { RawResponse } from '../support/http-bytes.ts';
import type { Schema } from './requests.ts';

/* The running service's own OpenAPI document, and whether an answer keeps to it. */

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: Content;
  /** A response without content has no body. */
  readonly responses: Readonly<Record<string, Partial<Content>>>;
}

/** Without references. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Error: Schema } };
}

interface Contract {
  /** The bodies that create and change a plant. */
  readonly create: Schema;
  readonly change: Schema;
  /** @returns what is wrong with an answer, undefined if nothing is */
  readonly faultOf: (answer: RawResponse) => string | undefined;
}

/**
 * Reads the document of a service. Any of its operations may have been asked for: what is wrong with a request can have
 * changed the method or the path.
 */
export async function contractOf(url: string): Promise<Contract> {
  const specification = await (await fetch(`${url}/openapi.json`)).json();
  const document = new Validator().resolveRefs({ specification }) as unknown as Document;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const bodyOf = (id: string) => {
    const { requestBody } = operations.find(({ operationId }) => operationId === id) ?? {};
    if (requestBody === undefined) throw new TypeError(`${id} takes no body`);
    return requestBody.content['application/json'].schema;
  };
  const all = operations.flatMap(({ responses }) => Object.entries(responses));
  const responses = all.flatMap(([status, { content }]) =>
    content ? [checkable(Number(status), content['application/json'].schema)] : [],
  );
  const bodiless = all.flatMap(([status, { content }]) => (content ? [] : [Number(status)]));
  // Of no operation: a path or a method that the document does not have.
  for (const status of [404, 405]) responses.push(checkable(status, document.components.schemas.Error));
  /** The page for people, which is no operation: at / for who accepts HTML. */
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
  return {
    create: bodyOf('createPlant'),
    change: bodyOf('changePlant'),
    faultOf({ status, headers, body }) {
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
    },
  };
}

const checkable = (status: number, schema: Schema) => ({
  status,
  names: Object.keys(schema.properties ?? {}),
  validator: Compile(schema),
});
