import { globSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { startApiServer } from '../../../support/api-server.ts';
import { forAllTests } from '../../../support/lifetimes.ts';
import { projectFile } from '../../../support/service-process.ts';

/* How the files of the page for people are served; the files *.browser.ts show what they do in a browser. */

const OF_BROWSERS = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const folder = 'src/adapters/http/page';
const scripts = globSync('**/*.js', { cwd: projectFile(`${folder}/scripts`) });

const server = forAllTests(() => startApiServer({ baseUrl: 'https://plants.example' }));

const get = (path: string) => fetch(`${server.url}${path}`);
const getPage = (accept: string, method = 'GET') => fetch(server.url, { method, headers: { Accept: accept } });

test('is served without a token, with a policy that lets nothing in from elsewhere and nothing out', async () => {
  const page = await getPage(OF_BROWSERS);
  expect([page.status, page.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('Vary')).toBe('Accept, Accept-Encoding');
  expect(page.headers.get('Referrer-Policy')).toBe('no-referrer');
  // A page of another origin that has opened this one cannot bring it to another address.
  expect(page.headers.get('Cross-Origin-Opener-Policy')).toBe('same-origin');
  expect(page.headers.get('Cross-Origin-Resource-Policy')).toBe('same-origin');
  expect(page.headers.get('Content-Security-Policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const [, sheet] = /href="(page\/\S+)"/.exec(await page.text()) ?? [];
  expect((await get(`/${sheet}`)).headers.get('Content-Type')).toBe('text/css; charset=utf-8');
});

test('has every script that there is', async () => {
  expect(scripts).toContain('main.js');
  for (const script of scripts) {
    const { status, headers } = await get(`/page/${script}`);
    expect([script, status, headers.get('Content-Type')]).toEqual([script, 200, 'text/javascript; charset=utf-8']);
  }
});

test.each(['*/*', 'text/html;q=0, */*'])('is no path for those who do not ask for HTML: %s', async (accept) => {
  const answer = await getPage(accept);
  expect([answer.status, answer.headers.get('Vary')]).toEqual([404, 'Accept']);
  const message =
    'no such path: paths are in lower case, without a slash at the end; the plants are at /plants, and /docs describes the API';
  expect(await answer.json()).toEqual({ error: 40400, message });
});

test('can only be read', async () => {
  expect((await getPage(OF_BROWSERS, 'HEAD')).status).toBe(200);
  expect((await getPage(OF_BROWSERS, 'POST')).status).toBe(404);
});

test('is removed by PAGES=off, together with the reference, but not the document that this shows', async () => {
  const { url } = await startApiServer({ pages: false });
  const statusOf = async (path: string) => (await fetch(url + path, { headers: { Accept: OF_BROWSERS } })).status;
  for (const path of ['/', '/page/main.js', '/docs']) expect([path, await statusOf(path)]).toEqual([path, 404]);
  expect(await statusOf('/openapi.json')).toBe(200);
});
