import type Router from '@koa/router';
import type { Context } from 'koa';
import type { TokenVerifier } from '../../../application/permissions.ts';
import { exchangeOf } from '../exchange.ts';
import { HttpError } from '../pipeline/errors.ts';
import { respond } from '../pipeline/response.ts';
import type { Admission } from './admission.ts';
import { bearerToken, requirePermission } from './bearer-auth.ts';
import type { BodyReader } from './body-reader.ts';
import { ifNoneMatch } from './etag.ts';
import type { Operation } from './operation.ts';
import type { responseLimits } from './response-limits.ts';
import type { Reply } from './responses.ts';

/** The steps that every request passes before its operation is invoked, and its response before it is sent. */
interface Gates {
  readonly verifyToken: TokenVerifier;
  /** Reads, writes and those that wait have limits of their own, so that none keeps another out. */
  readonly admissions: Readonly<Record<'read' | 'write' | 'wait', Admission>>;
  readonly body: BodyReader;
  readonly limitResponse: ReturnType<typeof responseLimits>;
}

const EMPTY = Buffer.alloc(0);
const noBody: BodyReader = { check: () => 0, read: () => EMPTY };

/** Adds the route of an operation. The order of the checks is documented. */
export function routeOperation(router: Router, operation: Operation, gates: Gates): void {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
  const { check, read } = operation.requestBody ? gates.body : noBody;
  const kind = operation.permission === 'read' ? 'read' : 'write';
  const { enter, grow, arrival, leave } = gates.admissions[operation.mayWait ? 'wait' : kind];

  router.register(path, [operation.method], async (ctx) => {
    const exchange = exchangeOf(ctx.req);
    exchange.operation = operation.operationId;
    requirePermission(await gates.verifyToken(bearerToken(ctx.req)), operation.permission);
    exchange.connection.isAuthenticated = true;
    const { accept, 'if-match': ifMatch } = ctx.req.headers;
    const signal = () => leaving(ctx);
    const invoke = operation.prepare({ path: ctx.params, query: ctx.querystring, accept, ifMatch, signal });
    const ticket = enter(check(ctx));
    try {
      const reading = read(ctx, (bytes) => grow(ticket, bytes));
      const body = Buffer.isBuffer(reading) ? reading : await arrival(ticket, reading);
      exchange.resume = 'at once';
      const reply = await invoke(body);
      // The parser refused what followed meanwhile, and that response is sent (parser-refusals.ts).
      if (ctx.res.headersSent) return;
      if (reply.needsChunks && ctx.req.httpVersion === '1.0') throw new HttpError('not_acceptable', NEEDS_CHUNKS);
      gates.limitResponse(ctx.res, reply.body);
      send(ctx, reply);
    } finally {
      leave(ticket);
    }
  });
}

const NEEDS_CHUNKS =
  'over HTTP/1.0 nothing would show that a stream of lines broke off: use HTTP/1.1, a smaller limit or application/json';

/**
 * Aborts when the client leaves. One that has closed its side may still wait for a response, and gets one soon; more
 * often it has gone, and nothing else would show that before something is sent.
 */
function leaving({ req: { socket }, res }: Context): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  // One for each request that the client has sent at once, of which there may be 16.
  socket.setMaxListeners(32);
  socket.once('end', abort);
  res.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return controller.signal;
}

/** Whether the client has this representation already. */
function isKnown({ method, req }: Context, etag: string | undefined): boolean {
  const { 'if-none-match': known } = req.headers;
  return etag !== undefined && known !== undefined && method !== 'PUT' && ifNoneMatch(known, etag);
}

function send(ctx: Context, { headers, body }: Reply): void {
  if (isKnown(ctx, headers.ETag)) respond(ctx, { status: 304, headers, body: undefined });
  else respond(ctx, { status: body === undefined ? 204 : 200, headers, body });
}
