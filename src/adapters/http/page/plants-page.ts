import { join } from 'node:path';
import { preferredType } from '../contract/media-types.ts';
import { type PageRoute, pageFiles } from '../page-files.ts';
import type { RequestMiddleware } from '../request/state.ts';

const own = (file: string) => join(import.meta.dirname, file);

const scripts = [
  'main',
  'api',
  'dom',
  'errors',
  'follow',
  'free-id',
  'ids',
  'tag-choices',
  'texts',
  'token',
  'table/fields',
  'table/fragment',
  'table/plants',
  'table/selection',
  'table/table',
  'table/total',
  'editor/editor',
  'editor/new-plant',
  'editor/questions',
  'editor/several',
  'editor/text-field',
  'lists/download-dialog',
  'lists/drop-zone',
  'lists/encoding-finder',
  'lists/import-dialog',
  'lists/import-form',
  'lists/import-report',
  'lists/list-file',
  'lists/list-layout',
  'lists/list-sender',
  'lists/parts',
  'lists/rejected-list',
];

const files = [
  { path: '/', type: 'html', file: own('page.html') },
  { path: '/page/page.css', type: 'css', file: own('page.css') },
  { path: '/page/lists.css', type: 'css', file: own('lists.css') },
  ...scripts.map(
    (name) => ({ path: `/page/${name}.js`, type: 'javascript', file: own(`scripts/${name}.js`) }) as const,
  ),
] as const;

/** The plants, for people: at / for browsers, which ask for HTML. Other clients get 404, as at any unknown path. */
export const plantsPageRoutes: readonly PageRoute[] = pageFiles(files, () => []).map(({ path, handle }) => ({
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
