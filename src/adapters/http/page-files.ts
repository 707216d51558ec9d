import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { setHeaders } from './middleware/every-request.ts';
import type { RequestContext, RequestMiddleware } from './middleware/state.ts';
import { ifNoneMatch } from './operations/etag.ts';

/* The files of a page for people. They are no operation, so they need no token. */

/** A page's file at its path. */
interface PageRoute {
  readonly path: string;
  readonly handle: RequestMiddleware;
}

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
export function pageFiles(files: readonly PageFile[], origins: () => readonly string[]): PageRoute[] {
  return files.map(({ path, type, file }) => {
    let loading: ReturnType<typeof load> | undefined;
    async function handle(ctx: RequestContext): Promise<void> {
      // Once, however many requests come before it is read: a megabyte of memory and 50 ms of the CPU for each would add up.
      loading ??= load(file).catch((error) => {
        loading = undefined;
        throw error;
      });
      const { plain, zipped, etag } = await loading;
      // CORS may have set a Vary.
      ctx.vary('Accept-Encoding');
      setHeaders(ctx.res, { ...headers(origins()), ETag: etag });
      if (ifNoneMatch(ctx.get('If-None-Match'), etag)) {
        ctx.status = 304;
        return;
      }
      const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      ctx.res.setHeader('Content-Type', `text/${type}; charset=utf-8`);
      if (isZipped) ctx.res.setHeader('Content-Encoding', 'gzip');
      ctx.body = isZipped ? zipped : plain;
    }
    return { path, handle };
  });
}

async function load(file: string) {
  const plain = await readFile(file);
  // Weak, since it identifies both encodings.
  return { plain, zipped: await promisify(gzip)(plain), etag: `W/"${hash('sha256', plain, 'base64url')}"` };
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
