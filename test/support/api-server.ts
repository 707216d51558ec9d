import { pino } from 'pino';
import { staticTokens } from '../../src/adapters/auth/static-tokens.ts';
import { api } from '../../src/adapters/http/app.ts';
import type { RequestObserver } from '../../src/adapters/http/middleware/log-line.ts';
import { type HttpServer, serve, type serverLimits } from '../../src/adapters/http/server.ts';
import type { ChangeLog } from '../../src/application/changes/log.ts';
import type { TokenVerifier } from '../../src/application/permissions.ts';
import type { PlantRepository } from '../../src/application/ports.ts';
import { type UseCases, useCases } from '../../src/application/use-cases.ts';
import { fakePlants } from './fake-plants.ts';
import { atEnd } from './lifetimes.ts';

export const TOKEN = 'token-for-the-tests';

interface ApiServerOptions {
  /** In place of what a repository in memory does. */
  readonly plants?: Partial<PlantRepository & Pick<ChangeLog, 'readChanges'>>;
  /** In place of those on these plants. */
  readonly cases?: Partial<UseCases>;
  /** In bytes. */
  readonly bodyLimit?: number;
  readonly limits?: Partial<typeof serverLimits>;
  /** Where it listens, unless another public address is given. */
  readonly baseUrl?: string;
  readonly corsOrigins?: readonly string[];
  readonly isReady?: () => Promise<boolean>;
  readonly pages?: boolean;
  readonly maxRequests?: number;
  /** In bytes. */
  readonly maxRequestBytes?: number;
  readonly maxStreams?: number;
  readonly maxFollowers?: number;
  /** Accepts TOKEN for everything unless another is given. */
  readonly verifyToken?: TokenVerifier;
  readonly observer?: RequestObserver;
}

export interface ApiServer extends HttpServer {
  /** Every log line so far. */
  readonly lines: readonly string[];
}

/** Serves the API on a free port of the loopback interface, until the end of the test. */
export async function startApiServer({
  plants = {},
  cases = {},
  bodyLimit = 1024 ** 2,
  limits = {},
  baseUrl,
  corsOrigins = [],
  isReady = async () => true,
  pages = true,
  maxRequests = 1_000,
  maxRequestBytes = 64 * 1024 ** 2,
  maxStreams = 4,
  maxFollowers = 1_000,
  verifyToken = staticTokens({ full: [TOKEN], reading: [] }),
  observer,
}: ApiServerOptions = {}): Promise<ApiServer> {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const server: HttpServer = await startServer(
    api({
      cases: { ...useCases({ ...fakePlants(), ...plants }), ...cases },
      verifyToken,
      bodyLimit,
      maxRequests,
      maxRequestBytes,
      maxStreams,
      maxFollowers,
      baseUrl: () => baseUrl ?? server.url,
      corsOrigins,
      isReady,
      pages,
      log,
      ...(observer && { observer }),
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
export function get(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Response> {
  return fetch(url + path, { method, headers: { Authorization: `Bearer ${TOKEN}`, ...headers } });
}

/** The status of an error response, its number and its message. */
export async function refusalOf(response: Response): Promise<[status: number, error: number, message: string]> {
  const { error, message } = (await response.json()) as { error: number; message: string };
  return [response.status, error, message];
}
