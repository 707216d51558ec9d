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
  readonly body: BodyReader;
}

const noBody: BodyReader = { check: () => 0, read: async () => Buffer.alloc(0) };

/** Adds the route of an operation. The order of the checks is documented. */
export function routeOperation(router: Router, operation: Operation, { authenticate, admit, body }: Gates): void {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
  const { check, read } = operation.requestBody ? body : noBody;

  router.register(path, [operation.method], async (ctx) => {
    const exchange = exchangeOf(ctx.req);
    exchange.operation = operation.operationId;
    await authenticate(ctx);
    exchange.connection.isAuthenticated = true;
    operation.check(ctx.params);
    await admit(
      check(ctx),
      (received) => read(ctx, received),
      async (body) => {
        exchange.resume = 'at once';
        ctx.body = await operation.invoke({ path: ctx.params, body });
      },
    );
  });
}
