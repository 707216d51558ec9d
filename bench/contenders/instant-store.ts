import { setImmediate } from 'node:timers/promises';
import { api } from '../../src/adapters/http/api.ts';
import { plantRoutes } from '../../src/adapters/http/plant-routes.ts';
import { serve } from '../../src/adapters/http/server.ts';
import { staticTokens } from '../../src/adapters/http/static-tokens.ts';
import { prometheusMetrics } from '../../src/adapters/prometheus/metrics.ts';
import { createPlant } from '../../src/application/create-plant.ts';
import type { PlantRepository } from '../../src/application/ports.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

/*
 * The service as src/app.ts builds it, over a store that answers at once: what its HTTP side can do by itself. With
 * ANSWERS=together it answers all that came in one turn of the event loop at the turn's end, as a store that commits in
 * groups does.
 */

const { api: address, bodyLimit, limits, logLevel, tokens } = readConfig(process.env);
const log = await createLog(logLevel);
const metrics = prometheusMetrics();

const together = process.env.ANSWERS === 'together';
let turnEnd: Promise<void> | undefined;
const plants: PlantRepository = {
  async add(plant) {
    if (together) {
      turnEnd ??= endOfTurn();
      await turnEnd;
    }
    return plant;
  },
};

async function endOfTurn(): Promise<void> {
  await setImmediate();
  turnEnd = undefined;
}

const app = api({
  operations: plantRoutes({ createPlant: createPlant(plants) }),
  verifyToken: staticTokens(tokens),
  bodyLimit,
  limits,
  baseUrl: () => url,
  log,
  observer: metrics,
});
const { url } = await serve(app, address.host, address.port, log, {}, metrics);
process.stderr.write(`listens at ${url}\n`);
