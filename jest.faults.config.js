import { base, testTimeout } from './jest.config.js';

/*
 * npm run test:faults: everything in test/faults, with as many rounds as a claim needs. `*.full.ts` are part of
 * npm run test:full too, with few rounds; `*.faults.ts` are run only here.
 *
 * @type {import('jest').Config}
 */
export default {
  ...base,
  testTimeout,
  testMatch: ['<rootDir>/test/faults/**/*.{full,faults}.ts'],
  // Two at once would measure each other.
  maxWorkers: 1,
  verbose: true,
  globals: { faultRounds: 20 },
};
