import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { etagOf, ifNoneMatch } from './contract/etag.ts';
import type { ExchangeContext } from './request/exchange-context.ts';
import type { Route } from './request/koa-app.ts';
import { respond } from './request/response.ts';

/* The files of a page for people. They are no operation, so they need no token. */

interface PageFile {
  readonly path: string;
  readonly type: 'html' | 'css' | 'javascript';
  readonly file: string;
}

/**
 * The routes of files, which are read at their first request, then cached.
 *
 * @param origins besides its own, to which the page may send requests
 */
export function pageFiles(files: readonly PageFile[], origins: () => readonly string[]): Route[] {
  return files.map(({ path, type, file }) => {
    let loading: ReturnType<typeof load> | undefined;
    async function handle(ctx: ExchangeContext): Promise<void> {
      // Once, however many requests come before it is read: a megabyte of memory and 50 ms of the CPU for each would add up.
      loading ??= load(file).catch((error) => {
        loading = undefined;
        throw error;
      });
      const { plain, zipped, etag } = await loading;
      // Not with the headers below: CORS may have set a Vary.
      ctx.vary('Accept-Encoding');
      const common = { ...headers(origins()), ETag: etag };
      if (ifNoneMatch(ctx.get('If-None-Match'), etag)) {
        respond(ctx, { status: 304, headers: common, body: undefined });
        return;
      }
      const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      const own = { 'Content-Type': `text/${type}; charset=utf-8`, ...(isZipped && { 'Content-Encoding': 'gzip' }) };
      respond(ctx, { status: 200, headers: { ...common, ...own }, body: isZipped ? zipped : plain });
    }
    return { method: 'GET', path, handle };
  });
}

async function load(file: string) {
  const plain = await readFile(file);
  // Weak, since it identifies both encodings.
  return { plain, zipped: await promisify(gzip)(plain), etag: `W/${etagOf(plain)}` };
}

/**
 * Forbids inline scripts and styles and other origins, which cannot reach a window of the page either. Images may be data:
 * URLs, as icons in style sheets are.
 */
function headers(origins: readonly string[]): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
  };
}
