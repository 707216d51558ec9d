import { pino } from 'pino';
import { api } from '../../src/adapters/http/api.ts';
import { plantRoutes } from '../../src/adapters/http/plant-routes.ts';
import { type HttpServer, serve, type serverLimits } from '../../src/adapters/http/server.ts';
import { staticTokens } from '../../src/adapters/http/static-tokens.ts';
import { createPlant } from '../../src/application/create-plant.ts';
import type { PlantRepository } from '../../src/application/ports.ts';
import { fakePlants } from './fake-plants.ts';

export const TOKEN = 'token-for-the-tests';

interface ApiServerOptions {
  readonly plants?: PlantRepository;
  /** In bytes. */
  readonly bodyLimit?: number;
  readonly limits?: Partial<typeof serverLimits>;
  /** Where it listens, unless another public address is given. */
  readonly baseUrl?: string;
  readonly corsOrigins?: readonly string[];
  readonly maxRequests?: number;
  /** In bytes. */
  readonly maxRequestBytes?: number;
  /** Gets every log line. */
  readonly onLog?: (line: string) => void;
}

/** Serves the API on a free port of the loopback interface, over a repository in memory unless one is given. */
export async function startApiServer({
  plants = fakePlants(),
  bodyLimit = 1024 ** 2,
  limits = {},
  baseUrl,
  corsOrigins = [],
  maxRequests = 1_000,
  maxRequestBytes = 64 * 1024 ** 2,
  onLog = () => {},
}: ApiServerOptions = {}): Promise<HttpServer> {
  const log = pino({}, { write: onLog });
  const server: HttpServer = await serve(
    api({
      operations: plantRoutes({ createPlant: createPlant(plants) }),
      verifyToken: staticTokens([TOKEN]),
      bodyLimit,
      limits: { maxRequests, maxRequestBytes },
      baseUrl: () => baseUrl ?? server.url,
      corsOrigins,
      log,
    }),
    '127.0.0.1',
    0,
    log,
    limits,
  );
  return server;
}

/** Sends a body as it is to POST /plants. */
export function post(url: string, body: BodyInit | null, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
    body,
  });
}
