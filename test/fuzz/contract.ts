import { Compile } from 'typebox/compile';
import type { Schema } from './requests.ts';

/* The running service's own OpenAPI document, and whether an answer keeps to it. */

type Reference = { readonly $ref: string } | { readonly allOf: readonly Reference[] } | Schema;

interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Reference } };
}

interface Document {
  readonly paths: Readonly<
    Record<string, { readonly post: { requestBody: Content; responses: Record<string, Content> } }>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface Contract {
  readonly path: string;
  readonly request: Schema;
  /** @returns what is wrong with an answer, undefined if nothing is */
  readonly faultOf: (answer: Answer) => string | undefined;
}

/** Reads the document of a service with one operation. */
export async function contractOf(url: string): Promise<Contract> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const [[path, { post }] = [undefined, { post: undefined }]] = Object.entries(document.paths);
  if (path === undefined || post === undefined) throw new TypeError('the document has no operation');
  const resolve = (schema: Reference): Schema => {
    if ('allOf' in schema && schema.allOf !== undefined) {
      const allOf = schema.allOf.map(resolve);
      return { allOf, properties: Object.assign({}, ...allOf.map(({ properties }) => properties)) };
    }
    if (!('$ref' in schema)) return schema as Schema;
    const name = schema.$ref.replace('#/components/schemas/', '');
    const found = document.components.schemas[name];
    if (found === undefined) throw new TypeError(`the document has no schema ${name}`);
    return found;
  };
  const schemaOf = ({ content }: Content) => resolve(content['application/json'].schema);
  const checkable = (schema: Schema) => ({ names: Object.keys(schema.properties ?? {}), validator: Compile(schema) });
  const error = checkable(resolve({ $ref: '#/components/schemas/Error' }));
  const responses = new Map([
    // Of no operation: a path or a method that the document does not have.
    ...([404, 405] as const).map((status) => [status, error] as const),
    ...Object.entries(post.responses).map(
      ([status, response]) => [Number(status), checkable(schemaOf(response))] as const,
    ),
  ]);
  return {
    path,
    request: schemaOf(post.requestBody),
    faultOf({ status, headers, body }) {
      const documented = responses.get(status);
      if (documented === undefined) return `the status ${status} is not in the document`;
      if (status >= 500) return `the status is ${status}`;
      if (headers.get('content-type') !== 'application/json') return `the type is ${headers.get('content-type')}`;
      const value: unknown = JSON.parse(body);
      if (!documented.validator.Check(value)) return `the body does not fit the document: ${body}`;
      const extra = Object.keys(value as object).filter((name) => !documented.names.includes(name));
      return extra.length > 0 ? `the body has more than the document: ${extra}` : undefined;
    },
  };
}
