import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type Router from '@koa/router';
import { ifNoneMatch } from '../operations/etag.ts';
import { respond } from '../pipeline/response.ts';

/* The API reference at /docs: Swagger UI, served entirely from this port. It is not an operation, so needs no token. */

const own = (file: string) => join(import.meta.dirname, file);
const library = (file: string) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`);

const files = [
  { path: '/docs', type: 'text/html; charset=utf-8', file: own('page.html') },
  { path: '/docs/page.css', type: 'text/css; charset=utf-8', file: own('page.css') },
  { path: '/docs/page.js', type: 'text/javascript; charset=utf-8', file: own('page.js') },
  { path: '/docs/swagger-ui.css', type: 'text/css; charset=utf-8', file: library('swagger-ui.css') },
  { path: '/docs/swagger-ui.js', type: 'text/javascript; charset=utf-8', file: library('swagger-ui-bundle.js') },
];

/**
 * Adds the routes of the page. Its files are read at their first request, then cached.
 *
 * @param baseUrl the public address, the only one besides its own that the page may send requests to
 */
export function addDocsPage(router: Router, baseUrl: () => string): void {
  for (const { path, type, file } of files) {
    let cached: Awaited<ReturnType<typeof load>> | undefined;
    router.get(path, async (ctx) => {
      cached ??= await load(file);
      const { plain, zipped, etag } = cached;
      // Not with the others below: CORS may have set one.
      ctx.vary('Accept-Encoding');
      const common = { ...headers(baseUrl()), ETag: etag };
      if (ifNoneMatch(ctx.get('If-None-Match'), etag)) {
        respond(ctx, { status: 304, headers: common, body: undefined });
        return;
      }
      const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      const own = { 'Content-Type': type, ...(isZipped && { 'Content-Encoding': 'gzip' }) };
      respond(ctx, { status: 200, headers: { ...common, ...own }, body: isZipped ? zipped : plain });
    });
  }
}

async function load(file: string) {
  const plain = await readFile(file);
  // Weak, since it identifies both encodings.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url')}"`;
  return { plain, zipped: await promisify(gzip)(plain), etag };
}

/** Forbids inline scripts and other origins. Swagger UI has its icons as data: URLs in its style sheet. */
function headers(baseUrl: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(baseUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
  };
}
