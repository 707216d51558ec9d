import type { RouterContext } from '@koa/router';
import { HttpError } from '../http-errors.ts';
import type { RequestState } from './state.ts';

/**
 * Refuses what no route responds to: an unknown path, or a method that the path does not have.
 *
 * @param help says at an unknown path where to find what
 */
export function refuseUnknown(help: string) {
  return ({ matched = [] }: RouterContext<RequestState>): never => {
    // The page at / is for browsers: for other clients there is nothing.
    const routes = matched.filter((route) => route.path !== '/');
    if (routes.length === 0) {
      const rule = 'paths are in lower case, without a slash at the end';
      throw new HttpError('path_not_found', `no such path: ${rule}; ${help}`);
    }
    // Of `/plants/count`, and not of `/plants/:id`, which it matches as well.
    const allow = routes.flatMap(({ path, methods }) => (path === routes[0]?.path ? methods : [])).join(', ');
    throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
  };
}
