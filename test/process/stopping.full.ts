import { expect, test } from '@jest/globals';
import { CLOSE, get, TOKEN } from '../support/api-server.ts';
import { startService, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

test('cuts searches on Postgres off at the deadline, which is no defect', async () => {
  const database = await migratedDatabase();
  await database.query("insert into plants (id, name) select id, 'Monstera' from generate_series(1, 200000) as id");
  const environment = { DATABASE_URL: database.url, ACCESS_TOKENS: TOKEN, SHUTDOWN_TIMEOUT: '1s', SHUTDOWN_DELAY: '0' };
  const service = await startService(await temporaryFolder(), environment);
  const searches = Array.from({ length: 4 }, () => get(service.apiUrl, '/plants?name=nowhere', CLOSE));
  const responses = await Promise.all(searches);
  service.kill('SIGTERM');
  await Promise.all(responses.map((response) => expect(response.text()).rejects.toThrow()));
  expect((await service.exited).signal).toBe(null);
  const levels = [...service.stdout().matchAll(/.+/g)].map(([line]) => JSON.parse(line).level);
  expect(levels.length).toBeGreaterThan(0);
  expect(Math.max(...levels)).toBeLessThan(50);
});
