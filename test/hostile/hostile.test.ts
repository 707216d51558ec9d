import { expect, test } from '@jest/globals';
import { post, startApiServer, TOKEN } from '../support/api-server.ts';
import { attacks } from './attacks.ts';

/*
 * The attacks of `npm run test:hostile`, one turn of each. How others fare meanwhile is measured there, at full size and
 * on the service as its own process.
 */

const impatience = { headersTimeout: 500, requestTimeout: 1_500, responseTimeout: 1_000, keepAliveTimeout: 100 };

// Not in a hook, for which Jest's concurrent tests do not wait.
const server = await startApiServer();
const impatient = await startApiServer({ limits: { ...impatience, connectionsCheckingInterval: 10 } });

const { signal } = new AbortController();
const waits = ({ outcomes }: { outcomes: readonly string[] }) => outcomes.includes('held');

test.each(attacks.filter((attack) => !waits(attack)))('answers $name, and others meanwhile', async (attack) => {
  const outcome = attack.turn({ url: server.url, token: TOKEN, signal });
  const ordinary = await post(server.url, '{"id":1,"name":"Monstera"}', { Connection: 'close' });
  expect(ordinary.status).toBe(200);
  expect(attack.outcomes).toContain(await outcome);
});

test.concurrent.each(attacks.filter(waits))('loses its patience with $name', async ({ turn, outcomes }) => {
  const outcome = await turn({ url: impatient.url, token: TOKEN, signal });
  expect(outcomes.filter((one) => one !== 'held')).toContain(outcome);
});
