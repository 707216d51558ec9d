import { mkdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { rejectedFile } from '../../../src/adapters/import/rejected-file.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { projectFile, temporaryFolder } from '../../support/service-process.ts';

test('a refused plant that cannot be written says which file, and what to do', async () => {
  const path = join(await temporaryFolder(), 'rejected');
  const rejected = rejectedFile(path, await stat(projectFile('package.json'), { bigint: true }));
  // Somebody else has taken the name meanwhile.
  mkdirSync(path);
  const content = new PlantStoreError('invalid_plant', 'id is missing');
  const line = { number: 1, lastNumber: 1, bytes: Buffer.from('{}'), problem: undefined };
  expect(() => rejected.add({ line, content }, content)).toThrow(
    /^refused plants cannot be written to .*\/rejected \(EEXIST: .*\): name another file with --rejected$/,
  );
});
