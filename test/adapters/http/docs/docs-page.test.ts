import { describe, expect, test } from '@jest/globals';
import { startApiServer } from '../../../support/api-server.ts';
import { forAllTests } from '../../../support/lifetimes.ts';

/* How the files of the API reference are served; docs-page.browser.ts shows what they do in a browser. */

const server = forAllTests(() => startApiServer({ baseUrl: 'https://plants.example/garden/' }));

const get = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init);

describe.each([
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/page.css', 'text/css; charset=utf-8'],
  ['/docs/page.js', 'text/javascript; charset=utf-8'],
  ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/swagger-ui.js', 'text/javascript; charset=utf-8'],
])('%s', (path, type) => {
  test('is served without a token, as what it is', async () => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect((await answer.text()).length).toBeGreaterThan(100);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      'referrer-policy': 'no-referrer',
      vary: 'Accept-Encoding',
    });
  });

  test('is compressed only for those who can read that', async () => {
    const [zipped, plain] = await Promise.all(
      ['gzip', 'identity'].map((encoding) => get(path, { headers: { 'Accept-Encoding': encoding } })),
    );
    expect([zipped?.headers.get('Content-Encoding'), plain?.headers.get('Content-Encoding')]).toEqual(['gzip', null]);
    expect(Number(zipped?.headers.get('Content-Length'))).toBeLessThan(Number(plain?.headers.get('Content-Length')));
    expect((await zipped?.text()) === (await plain?.text())).toBe(true);
  });

  test('is not sent again to those who have it', async () => {
    const etag = (await get(path)).headers.get('ETag') ?? '';
    // As a browser asks; fetch alone would add no-cache, which asks for all of it.
    const since = (known: string) => ({ headers: { 'If-None-Match': known, 'Cache-Control': 'max-age=0' } });
    const again = await get(path, since(etag));
    expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
    expect((await get(path, since('W/"older"'))).status).toBe(200);
  });

  test('lets in nothing from elsewhere, and sends to nobody but its own and the public address', async () => {
    const policy = (await get(path)).headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; ");
    expect(policy).toContain("; connect-src 'self' https://plants.example; ");
    expect(policy).not.toContain('unsafe');
  });
});

test.each(['/docs/', '/DOCS', '/docs/page.html', '/docs/swagger-ui-bundle.js.map'])('there is no %s', async (path) => {
  const answer = await get(path);
  expect([answer.status, await answer.json()]).toEqual([404, expect.objectContaining({ error: 40400 })]);
});

test('can only be read', async () => {
  const answer = await get('/docs', { method: 'POST' });
  expect([answer.status, answer.headers.get('Allow')]).toEqual([405, 'HEAD, GET']);
  const head = await get('/docs', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});
