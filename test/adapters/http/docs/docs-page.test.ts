import { expect, test } from '@jest/globals';
import { startApiServer } from '../../../support/api-server.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

/* How the files of the API reference are served; docs-page.browser.ts shows what they do in a browser. */

const server = forAllTests(() => startApiServer({ baseUrl: 'https://plants.example/garden/' }));

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.url}${path}`, { method, headers });

test.each([
  ['/docs', 'html'],
  ['/docs/page.css', 'css'],
  ['/docs/page.js', 'javascript'],
  ['/docs/swagger-ui.css', 'css'],
  ['/docs/swagger-ui.js', 'javascript'],
])('%s needs no token, is compressed and sent once, and lets nothing in from elsewhere', async (path, type) => {
  const [plain, zipped] = [await get(path, { 'Accept-Encoding': 'identity' }), await get(path)];
  expect(plain.status).toBe(200);
  expect(Object.fromEntries(plain.headers)).toMatchObject({
    'content-type': `text/${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    vary: 'Accept-Encoding',
  });
  expect(plain.headers.get('Content-Encoding')).toBe(null);
  expect(zipped.headers.get('Content-Encoding')).toBe('gzip');
  expect(Number(zipped.headers.get('Content-Length'))).toBeLessThan(Number(plain.headers.get('Content-Length')));
  expect((await zipped.text()) === (await plain.text())).toBe(true);

  // It sends to nobody but its own and the public address.
  const policy = plain.headers.get('Content-Security-Policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; ");
  expect(policy).toContain("; connect-src 'self' https://plants.example; ");
  expect(policy).not.toContain('unsafe');

  // As a browser asks; fetch alone would add no-cache, which asks for all of it.
  const since = (known: string) => get(path, { 'If-None-Match': known, 'Cache-Control': 'max-age=0' });
  const again = await since(plain.headers.get('ETag') ?? '');
  expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
  expect((await since('W/"older"')).status).toBe(200);
});

test('has no other paths, and can only be read', async () => {
  for (const path of ['/docs/', '/docs/page.html']) expect((await get(path)).status).toBe(404);
  const post = await get('/docs', {}, 'POST');
  expect([post.status, post.headers.get('Allow')]).toEqual([405, 'HEAD, GET']);
  const head = await get('/docs', {}, 'HEAD');
  expect([head.status, await head.text()]).toEqual([200, '']);
});
