import { describe, expect, test } from '@jest/globals';
import { all, backends, create, network, recovers, terminateBackends } from '../support/faults/troubled-service.ts';

/* Faults of single connections and statements, which no client notices. */

describe('answers 200 in time, since a fresh connection settles it', () => {
  test.each<[string, () => unknown]>([
    ['connections that are all reset', () => network.cut()],
    ['connections that are all dead without a word', () => [network.swallow(), network.pass()]],
    ['pg_terminate_backend', terminateBackends],
  ])('after %s', async (_name, strike) => {
    await strike();
    expect(await create(1)).toEqual([200]);
    expect(await create(8)).toEqual(all(8, 200));
    await recovers();
  });

  test('beside statements that never return', async () => {
    const frozen = await backends();
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    try {
      expect(await create(1)).toEqual([200]);
      expect(await create(8)).toEqual(all(8, 200));
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    }
    await recovers();
  });
});
