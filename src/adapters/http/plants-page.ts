import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestMiddleware } from './middleware/state.ts';
import { preferredType } from './operations/media-types.ts';
import { pageFiles } from './page-files.ts';

const project = join(import.meta.dirname, '../../..');

/** Served at their paths in the project, so that its scripts import each other as they do there, and the reader of lists. */
const FILES = '{web/*.css,{web/scripts,src/lists,src/formats}/**/*.js}';

const files = [
  { path: '/', type: 'html', file: join(project, 'web/page.html') },
  ...globSync(FILES, { cwd: project }).map(
    (name) =>
      ({
        // Windows writes paths with backslashes.
        path: `/page/${name.replaceAll('\\', '/')}`,
        type: name.endsWith('.css') ? 'css' : 'javascript',
        file: join(project, name),
      }) as const,
  ),
] as const;

/** The plants, for people: at / for browsers, which ask for HTML. Other clients get 404, as at any unknown path. */
export const plantsPageRoutes = pageFiles(files, () => []).map(({ path, handle }) => ({
  path,
  handle: path === '/' ? forPeople(handle) : handle,
}));

function forPeople(sendPage: RequestMiddleware): RequestMiddleware {
  return (ctx, next) => {
    ctx.vary('Accept');
    const accept = ctx.get('Accept');
    const isForPeople = /\btext\/html\b/i.test(accept) && preferredType(accept, ['text/html']) !== undefined;
    return isForPeople ? sendPage(ctx, next) : next();
  };
}
