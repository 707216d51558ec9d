import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pageFiles } from '../page-files.ts';

const own = (file: string) => join(import.meta.dirname, file);
const library = (file: string) => createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`);

const files = [
  { path: '/docs', type: 'html', file: own('page.html') },
  { path: '/docs/page.css', type: 'css', file: own('page.css') },
  { path: '/docs/page.js', type: 'javascript', file: own('page.js') },
  { path: '/docs/swagger-ui.css', type: 'css', file: library('swagger-ui.css') },
  { path: '/docs/swagger-ui.js', type: 'javascript', file: library('swagger-ui-bundle.js') },
] as const;

/**
 * The routes of the API reference at /docs: Swagger UI, served entirely from this port.
 *
 * @param baseUrl the public address: the page may send requests there and to its own address only
 */
export function docsRoutes(baseUrl: () => string) {
  return pageFiles(files, () => [new URL(baseUrl()).origin]);
}
