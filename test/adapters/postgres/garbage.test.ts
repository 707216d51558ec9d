import { expect, test } from '@jest/globals';
import { median } from '../../../tooling/statistics.ts';
import { projectFile, startNode, temporaryFolder } from '../../support/service-process.ts';
import { migratedDatabase } from '../../support/test-database.ts';

/* What a create allocates is garbage once it has its response: V8 then collects it in less than a millisecond. */

test('a create leaves nothing behind that outlives two collections of the young generation', async () => {
  const server = await migratedDatabase();
  try {
    const args = ['--expose-gc', projectFile('test/support/memory-kept.ts'), server.url];
    const program = startNode(args, await temporaryFolder());
    await program.exited;
    expect(program.stderr()).toBe('');
    // Now and then a round leaves some code and caches, too.
    expect(median(JSON.parse(program.stdout()))).toBeLessThan(100);
  } finally {
    await server.drop();
  }
});
