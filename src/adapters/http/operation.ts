import type { Static, TObject, TSchema } from 'typebox';

/** One operation of the contract: what the router serves and the OpenAPI document says. */
export interface Operation {
  readonly method: 'post';
  readonly path: string;
  readonly operationId: string;
  /** Its group in the documentation. */
  readonly tag: { readonly name: string; readonly description: string };
  readonly summary: string;
  readonly description: string;
  readonly request: TObject;
  readonly response: TSchema;
  /** Takes the validated request body, resolves to the body of the 200 answer. */
  readonly handle: (body: never) => Promise<unknown>;
}

/** Checks at compile time that the handler fits the schemas. */
export function operation<Request extends TObject, Response extends TSchema>(
  definition: Omit<Operation, 'request' | 'response' | 'handle'> & {
    readonly request: Request;
    readonly response: Response;
    readonly handle: (body: Static<Request>) => Promise<Static<Response>>;
  },
): Operation {
  return definition as Operation;
}
