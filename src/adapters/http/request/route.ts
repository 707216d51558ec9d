import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Permissions, TokenVerifier } from '../../../application/permissions.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { ifNoneMatch } from '../contract/etag.ts';
import type { Operation } from '../contract/operation.ts';
import { HttpError } from '../http-errors.ts';
import type { Admission } from './admission.ts';
import type { BodyReader } from './body-reader.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Route } from './koa-app.ts';
import { type ResponseCount, respond } from './response.ts';

/** The steps before an operation is invoked, and before its response is sent. */
interface Gates {
  readonly verifyToken: TokenVerifier;
  /** Reads, writes, requests that wait and lists have limits of their own, so that no kind keeps another out. */
  readonly admissions: Readonly<Record<'read' | 'write' | 'wait' | 'list', Admission>>;
  readonly body: BodyReader;
  readonly countResponse: ResponseCount;
  /** All that there are. */
  readonly operations: readonly Operation[];
}

const EMPTY = Buffer.alloc(0);
const noBodyReader: BodyReader = { sizeOf: () => 0, read: () => EMPTY };

/** The route of an operation. The order of the checks is documented. */
export function operationRoute(operation: Operation, gates: Gates): Route {
  const { verifyToken, admissions, countResponse } = gates;
  const { method, permission, limits, requestContent } = operation;
  const { sizeOf, read } = Object.keys(requestContent).length > 0 ? gates.body : noBodyReader;
  const onPath = gates.operations.filter(({ path }) => path === operation.path);
  // RFC 9110 section 10.2.1: what the token may do here.
  const allowedBy = (own: Permissions) => allowOf(onPath.filter(({ permission }) => own.has(permission)));
  const { enter, begin, leave } = admissions[limits ?? (permission === 'read' ? 'read' : 'write')];

  async function handle(ctx: ExchangeContext, path: Readonly<Record<string, string>>): Promise<void> {
    const { req, res } = ctx;
    const { exchange } = ctx.state;
    exchange.operation = operation.operationId;
    const permissions = await verifyToken(bearerToken(req));
    if (permissions === undefined) throw new HttpError('token_refused');
    exchange.connection.isAuthenticated = true;
    if (!permissions.has(permission)) throw new HttpError('insufficient_scope');
    const signal = () => leaving(req, res);
    requireUtf8(ctx.path);
    const invoke = operation.prepare({ path, query: ctx.querystring, request: req, permissions, signal });
    const place = enter(sizeOf(req));
    try {
      const reading = read(ctx);
      const bytes = Buffer.isBuffer(reading) ? reading : await reading;
      // The HTTP parser has refused the rest of this request, and that error was sent (parser-refusals.ts).
      if (res.headersSent) return;
      begin(place, bytes.length);
      exchange.readsNext = 'at once';
      const { headers: own, body } = await invoke(bytes);
      // If there is no room for the response: 503, also of a change that is done, and is as safe to repeat.
      countResponse(res, body);
      const headers = method === 'GET' ? { ...own, Allow: allowedBy(permissions) } : own;
      const { ETag } = own;
      const noneMatch = req.headers['if-none-match'];
      const isKnown = method === 'GET' && noneMatch !== undefined && ETag !== undefined && ifNoneMatch(noneMatch, ETag);
      if (isKnown) respond(ctx, { status: 304, headers, body: undefined });
      else respond(ctx, { status: body === undefined ? 204 : 200, headers, body });
    } finally {
      leave(place);
    }
  }

  return { method, path: operation.path.replace(/\{(\w+)\}/g, ':$1'), handle };
}

/** The header `Allow` for these operations on a path. */
function allowOf(operations: readonly Operation[]): string {
  return operations.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
}

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** The token of `Authorization: Bearer <token>`. @throws HttpError `token_missing` */
function bearerToken({ headers }: IncomingMessage): string {
  const token = BEARER.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new HttpError('token_missing');
  return token;
}

/** The router leaves escapes that are not UTF-8 as they are, so that %FF would mean the same as %25FF. */
function requireUtf8(path: string): void {
  try {
    if (path.includes('%')) decodeURIComponent(path);
  } catch {
    throw new PlantStoreError('invalid_plant', 'the path must be percent-encoded UTF-8');
  }
}

/**
 * Aborts when the response has closed, or the client leaves. A client that has closed its side may still wait for its
 * response, and gets it soon; more often it has gone, and nothing else would show that before something is sent.
 */
function leaving({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (socket.readableEnded || response.closed) abort();
  else socket.once('end', abort);
  response.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return controller.signal;
}
