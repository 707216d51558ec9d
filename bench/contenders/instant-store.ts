import { api } from '../../src/adapters/http/api.ts';
import { serve } from '../../src/adapters/http/sockets/server.ts';
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { staticTokens } from '../../src/adapters/tokens/static-tokens.ts';
import type { AddPlant } from '../../src/application/ports.ts';
import { useCases } from '../../src/application/use-cases.ts';
import { createLog } from '../../src/composition/log.ts';
import { readConfig } from '../../src/config/config.ts';
import { fakePlants } from '../../test/support/fake-plants.ts';

/*
 * The service as src/composition/app.ts builds it, over a store that responds at once: its HTTP side by itself, for
 * profiles.
 */

const { api: address, bodyLimit, limits, maxStreams, maxFollowers, logLevel, tokens } = readConfig(process.env);
const { log, writeLine } = await createLog(logLevel);
const metrics = prometheusMetrics();

const plants: AddPlant = { add: async (plant) => plant };

const app = api({
  cases: useCases({ ...fakePlants(), ...plants }),
  verifyToken: staticTokens(tokens),
  bodyLimit,
  limits,
  maxStreams,
  maxFollowers,
  baseUrl: () => url,
  pages: false,
  log,
  writeLine,
  observer: metrics,
});
const { url } = await serve(app, address.host, address.port, log);
process.stderr.write(`listens at ${url}\n`);
