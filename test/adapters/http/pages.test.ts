import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import type { RequestState } from '../../../src/adapters/http/middleware/state.ts';
import { pageFiles } from '../../../src/adapters/http/pages.ts';
import { CLOSE, startApiServer, startServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { forAllTests } from '../../support/lifetimes.ts';
import { makePipe } from '../../support/programs/named-pipe.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/* How the files of the pages are served; the files *.browser.ts show what they do in a browser. */

const OF_BROWSERS = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const server = forAllTests(() => startApiServer({ baseUrl: () => 'https://plants.example/garden/' }));

const get = (path: string, headers: Record<string, string> = { Accept: OF_BROWSERS }, method = 'GET') =>
  fetch(server.url + path, { method, headers });

test('is served without a token, with a policy that lets nothing in or out', async () => {
  const page = await get('/');
  expect([page.status, page.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('Vary')).toBe('Accept, Accept-Encoding');
  expect(page.headers.get('Referrer-Policy')).toBe('no-referrer');
  expect(page.headers.get('Link')).toContain('<page/web/scripts/table/plants.js>; rel=modulepreload');
  // A page of another origin that has opened this one cannot bring it to another address.
  expect(page.headers.get('Cross-Origin-Opener-Policy')).toBe('same-origin');
  expect(page.headers.get('Cross-Origin-Resource-Policy')).toBe('same-origin');
  expect(page.headers.get('Content-Security-Policy')).toBe(
    "default-src 'none'; script-src 'self'; worker-src blob:; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const [, sheet] = /href="(page\/\S+)"/.exec(await page.text()) ?? [];
  expect((await get(`/${sheet}`)).headers.get('Content-Type')).toBe('text/css; charset=utf-8');
});

test.each(['*/*', 'text/html;q=0, */*'])('is no path for those who do not ask for HTML: %s', async (Accept) => {
  const answer = await get('/', { Accept });
  expect([answer.status, answer.headers.get('Vary')]).toEqual([404, 'Accept']);
  expect(await answer.json()).toMatchObject({ error: 40400 });
});

test('is removed by PAGES=off together with the reference, but not its document', async () => {
  const { url } = await startApiServer({ pages: false });
  const statusOf = async (path: string) => (await fetch(url + path, { headers: { Accept: OF_BROWSERS } })).status;
  for (const path of ['/', '/page/web/page.css', '/docs']) expect([path, await statusOf(path)]).toEqual([path, 404]);
  expect(await statusOf('/openapi.json')).toBe(200);
});

test.each([
  ['/docs', 'html'],
  ['/docs/page.css', 'css'],
  ['/docs/page.js', 'javascript'],
  ['/docs/swagger-ui.css', 'css'],
  ['/docs/swagger-ui.js', 'javascript'],
])('%s needs no token, is compressed, sent once, and lets nothing in from elsewhere', async (path, type) => {
  const [plain, zipped] = [await get(path, { 'Accept-Encoding': 'identity' }), await get(path)];
  expect(Object.fromEntries(plain.headers)).toMatchObject({
    'content-type': `text/${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    vary: 'Accept-Encoding',
  });
  expect(zipped.headers.get('Content-Encoding')).toBe('gzip');
  expect(Number(zipped.headers.get('Content-Length'))).toBeLessThan(Number(plain.headers.get('Content-Length')));
  expect((await zipped.text()) === (await plain.text())).toBe(true);

  // It sends to nobody but its own and the public address.
  const policy = plain.headers.get('Content-Security-Policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self'; worker-src blob:; style-src 'self'; ");
  expect(policy).toContain("; connect-src 'self' https://plants.example; ");
  expect(policy).not.toContain('unsafe');

  // As a browser asks; fetch alone would add no-cache, which asks for all of it.
  const since = (known: string) => get(path, { 'If-None-Match': known, 'Cache-Control': 'max-age=0' });
  const again = await since(plain.headers.get('ETag') ?? '');
  expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
  expect((await since('W/"older"')).status).toBe(200);
});

test('each can only be read', async () => {
  for (const path of ['/', '/docs']) {
    const head = await get(path, { Accept: OF_BROWSERS }, 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
  }
  expect((await get('/', { Accept: OF_BROWSERS }, 'POST')).status).toBe(404);
  const post = await get('/docs', {}, 'POST');
  expect([post.status, post.headers.get('Allow')]).toEqual([405, 'HEAD, GET']);
});

test('a file is read once, however many ask for it before it is there', async () => {
  // Of a pipe only one reader gets what is written.
  const file = join(await temporaryFolder(), 'page.js');
  await makePipe(file);
  const [page] = pageFiles({ '/page.js': file }, () => []);
  let asked = 0;
  const app = new Koa<RequestState>().use((ctx, next) => {
    asked++;
    return page?.handle(ctx, next);
  });
  const server = await startServer({ app });
  const texts = [1, 2].map(async () => (await fetch(`${server.url}/page.js`, { headers: CLOSE })).text());
  await eventually(() => asked === 2);
  await writeFile(file, 'the page');
  expect(await Promise.all(texts)).toEqual(['the page', 'the page']);
});
