import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { pageFiles } from '../../../src/adapters/http/page-files.ts';
import type { RequestState } from '../../../src/adapters/http/request/state.ts';
import { CLOSE, startServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { makePipe } from '../../support/programs/named-pipe.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/* Files of pages; what is in them and their headers are in page/ and docs/. */

test('a file is read once, however many ask for it before it is there', async () => {
  // Of a pipe only one reader gets what is written.
  const file = join(await temporaryFolder(), 'page.js');
  await makePipe(file);
  const [page] = pageFiles([{ path: '/page.js', type: 'javascript', file }], () => []);
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
