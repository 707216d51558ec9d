import { api } from '../../src/adapters/http/api.ts';
import { plantRoutes } from '../../src/adapters/http/plant-routes.ts';
import { serve } from '../../src/adapters/http/server.ts';
import { staticTokens } from '../../src/adapters/http/static-tokens.ts';
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { createPlant } from '../../src/application/create-plant.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

/* The service as src/app.ts builds it, over a store that answers at once: what its HTTP side can do by itself. */

const { api: address, bodyLimit, limits, logLevel, tokens } = readConfig(process.env);
const log = await createLog(logLevel);
const metrics = prometheusMetrics();
const app = api({
  operations: plantRoutes({ createPlant: createPlant({ add: async (plant) => plant }) }),
  verifyToken: staticTokens(tokens),
  bodyLimit,
  limits,
  baseUrl: () => url,
  log,
  observer: metrics,
});
const { url } = await serve(app, address.host, address.port, log, {}, metrics);
process.stderr.write(`listens at ${url}\n`);
