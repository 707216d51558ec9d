import { pino } from 'pino';
import { staticTokens } from '../../src/adapters/auth/static-tokens.ts';
import { api } from '../../src/adapters/http/app.ts';
import { type HttpServer, serve, type serverLimits } from '../../src/adapters/http/server.ts';
import type { ChangeLog } from '../../src/application/changes/log.ts';
import type { PlantRepository } from '../../src/application/ports.ts';
import { type UseCases, useCases } from '../../src/application/use-cases.ts';
import { fakePlants } from './fake-plants.ts';
import { atEnd } from './lifetimes.ts';

export const TOKEN = 'token-for-the-tests';

interface ApiServerOptions extends Partial<Omit<Parameters<typeof api>[0], 'cases' | 'log'>> {
  /** In place of what a repository in memory does. */
  readonly plants?: Partial<PlantRepository & Pick<ChangeLog, 'readChanges'>>;
  /** In place of those on these plants. */
  readonly cases?: Partial<UseCases>;
  readonly limits?: Partial<typeof serverLimits>;
}

export interface ApiServer extends HttpServer {
  /** Every log line so far. */
  readonly lines: readonly string[];
}

/** Serves the API on a free port of the loopback interface, until the end of the test. It accepts TOKEN for everything. */
export async function startApiServer({ plants, cases, limits, ...options }: ApiServerOptions = {}): Promise<ApiServer> {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const server: HttpServer = await startServer(
    api({
      verifyToken: staticTokens({ full: [{ token: TOKEN }], reading: [] }),
      bodyLimit: 1024 ** 2,
      maxRequests: 1_000,
      maxRequestBytes: 64 * 1024 ** 2,
      maxStreams: 4,
      maxFollowers: 1_000,
      baseUrl: () => server.url,
      isReady: async () => true,
      pages: true,
      ...options,
      cases: { ...useCases({ ...fakePlants(), ...plants }), ...cases },
      log,
    }),
    log,
    limits,
  );
  return { ...server, lines };
}

/** The same with another app than the API. */
export async function startServer(
  app: Parameters<typeof serve>[0],
  log = pino({ enabled: false }),
  limits: Partial<typeof serverLimits> = {},
): Promise<HttpServer> {
  const server = await serve(app, '127.0.0.1', 0, log, limits);
  let closing: Promise<void> | undefined;
  const close: HttpServer['close'] = (...times) => (closing ??= server.close(...times));
  atEnd(() => close(0));
  return { ...server, close };
}

/** Headers of a request whose connection would keep a service that stops waiting if it stayed open. */
export const CLOSE = { Connection: 'close' };

/** Sends a body as it is to POST /plants with TOKEN, on a connection of its own. */
export function post(url: string, body: BodyInit | null, headers: Record<string, string> = {}): Promise<Response> {
  const all = { ...CLOSE, Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers };
  return fetch(`${url}/plants`, { method: 'POST', headers: all, body });
}

/** Asks for a path with TOKEN. */
export function get(url: string, path: string, headers: Record<string, string> = {}, method = 'GET') {
  return fetch(url + path, { method, headers: { Authorization: `Bearer ${TOKEN}`, ...headers } });
}

/** The status of an error response, its number and its message. */
export async function refusalOf(response: Response): Promise<[status: number, error: number, message: string]> {
  const { error, message } = (await response.json()) as { error: number; message: string };
  return [response.status, error, message];
}
