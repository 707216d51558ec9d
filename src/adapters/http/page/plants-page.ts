import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { preferredType } from '../contract/media-types.ts';
import { pageFiles } from '../page-files.ts';
import type { RequestMiddleware } from '../request/state.ts';

const own = (file: string) => join(import.meta.dirname, file);

/** Scripts are served at their paths in `src`, so that they import each other as they do there. */
const source = join(import.meta.dirname, '../../..');
const scripts = ['adapters/http/page/scripts', 'wire'].flatMap((folder) =>
  readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    // Windows writes paths with backslashes.
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
);

const files = [
  { path: '/', type: 'html', file: own('page.html') },
  { path: '/page/page.css', type: 'css', file: own('page.css') },
  { path: '/page/lists.css', type: 'css', file: own('lists.css') },
  ...scripts.map((name) => ({ path: `/page/${name}`, type: 'javascript', file: join(source, name) }) as const),
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
