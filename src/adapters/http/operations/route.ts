import type Router from '@koa/router';
import type { Context } from 'koa';
import { exchangeOf } from '../exchange.ts';
import type { Admission } from './admission.ts';
import type { BodyReader } from './body-reader.ts';
import type { Operation } from './operation.ts';

/** The steps that every request passes before its operation is invoked. */
interface Gates {
  readonly authenticate: (ctx: Context) => Promise<void>;
  readonly admit: Admission['admit'];
  readonly readBody: BodyReader;
}

const NO_BODY = Buffer.alloc(0);

/** Adds the route of an operation. The order of the checks is documented. */
export function routeOperation(router: Router, operation: Operation, { authenticate, admit, readBody }: Gates): void {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
  const declaredBytes = (ctx: Context) => (operation.requestBody ? Number(ctx.req.headers['content-length'] ?? 0) : 0);

  router.register(path, [operation.method], async (ctx) => {
    const exchange = exchangeOf(ctx.req);
    exchange.operation = operation.operationId;
    await authenticate(ctx);
    exchange.connection.isAuthenticated = true;
    operation.check(ctx.params);
    await admit(
      declaredBytes(ctx),
      async (received) => (operation.requestBody ? readBody(ctx, received) : NO_BODY),
      async (body) => {
        exchange.resume = 'at once';
        ctx.body = await operation.invoke({ path: ctx.params, body });
      },
    );
  });
}
