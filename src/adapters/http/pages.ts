import { hash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { setHeaders } from './middleware/every-request.ts';
import type { RequestMiddleware } from './middleware/state.ts';
import { ifNoneMatch } from './operations/etag.ts';
import { preferredType } from './operations/media-types.ts';

/* The pages for people: the plants at /, and the API reference at /docs. They are no operations, so they need no token. */

/** A page's file at its path. */
interface PageRoute {
  readonly path: string;
  readonly handle: RequestMiddleware;
}

const PROJECT = join(import.meta.dirname, '../../..');

/** Files served at their paths in the project, which the imports of the scripts and of the reader of lists name. */
const SCRIPTS = '{web/*.css,{web/scripts,src/lists,src/formats}/**/*.js}';

// Windows writes paths with backslashes.
const scripts = globSync(SCRIPTS, { cwd: PROJECT }).map((name) => `/page/${name.replaceAll('\\', '/')}`);
/** Makes browsers load all scripts at once, not one import after the other. */
const PRELOADS = scripts.flatMap((path) => (path.endsWith('.js') ? `<${path.slice(1)}>; rel=modulepreload` : []));
const { resolve } = createRequire(import.meta.url);
const plantsFiles = {
  '/': join(PROJECT, 'web/page.html'),
  // A bundle for browsers that the package does not export.
  '/page/read-excel-file.js': join(resolve('read-excel-file/package.json'), '../bundle/read-excel-file.min.js'),
  ...Object.fromEntries(scripts.map((path) => [path, join(PROJECT, path.slice('/page'.length))])),
};

/** Swagger UI, served entirely from this port. */
const swagger = (file: string) => resolve(`swagger-ui-dist/${file}`);
const ownFile = (file: string) => join(import.meta.dirname, 'docs', file);
const docsFiles = {
  '/docs': ownFile('page.html'),
  '/docs/page.css': ownFile('page.css'),
  '/docs/page.js': ownFile('page.js'),
  '/docs/swagger-ui.css': swagger('swagger-ui.css'),
  '/docs/swagger-ui.js': swagger('swagger-ui-bundle.js'),
};

/** @param baseUrl the public address, to which the API reference may also send requests */
export function pageRoutes(baseUrl: () => string): PageRoute[] {
  const plants = pageFiles(plantsFiles, () => []).map((route) => (route.path === '/' ? forPeople(route) : route));
  return [...plants, ...pageFiles(docsFiles, () => [new URL(baseUrl()).origin])];
}

/** Serves / to browsers, which request HTML. Other clients get 404, as at any unknown path. */
function forPeople({ path, handle }: PageRoute): PageRoute {
  const handleIfForPeople: RequestMiddleware = (ctx, next) => {
    ctx.vary('Accept');
    const accept = ctx.get('Accept');
    const isForPeople = /\btext\/html\b/i.test(accept) && preferredType(accept, ['text/html']) !== undefined;
    if (!isForPeople) return next();
    ctx.set('Link', PRELOADS);
    return handle(ctx, next);
  };
  return { path, handle: handleIfForPeople };
}

const TYPES: Readonly<Record<string, string>> = { '.html': 'html', '.css': 'css', '.js': 'javascript' };

interface LoadedFile {
  readonly plain: Buffer;
  readonly zipped: Buffer;
  readonly etag: string;
}

/**
 * The routes of files, by their paths. A file is read at its first request, and then kept.
 *
 * @param origins other origins to which the page may send requests
 */
export function pageFiles(files: Readonly<Record<string, string>>, origins: () => readonly string[]): PageRoute[] {
  return Object.entries(files).map(([path, file]) => {
    let promise: Promise<LoadedFile> | undefined;
    const handle: RequestMiddleware = async (ctx) => {
      // A file is loaded once for concurrent requests: each load would take a megabyte of memory and 50 ms of the CPU.
      promise ??= load(file).catch((error) => {
        promise = undefined;
        throw error;
      });
      const { plain, zipped, etag } = await promise;
      // CORS may have set a Vary header.
      ctx.vary('Accept-Encoding');
      setHeaders(ctx.res, { ...headers(origins()), ETag: etag });
      if (ifNoneMatch(ctx.get('If-None-Match'), etag)) {
        ctx.status = 304;
        return;
      }
      const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      ctx.res.setHeader('Content-Type', `text/${TYPES[extname(file)]}; charset=utf-8`);
      if (isZipped) ctx.res.setHeader('Content-Encoding', 'gzip');
      ctx.body = isZipped ? zipped : plain;
    };
    return { path, handle };
  });
}

async function load(file: string): Promise<LoadedFile> {
  const plain = await readFile(file);
  // Weak, since it identifies both encodings.
  return { plain, zipped: await promisify(gzip)(plain), etag: `W/"${hash('sha256', plain, 'base64url')}"` };
}

/**
 * Forbids inline scripts and styles, and other origins, which cannot reach a window of the page either. Images may be data:
 * URLs, as icons in style sheets are. Workers may be blob: URLs, which the library for workbooks uses.
 */
function headers(origins: readonly string[]): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    'worker-src blob:',
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
