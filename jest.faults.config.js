import everyRun from './jest.config.js';

/*
 * npm run test:faults: everything in test/faults, with as many rounds as a claim needs. `*.test.ts` are part of
 * npm test too, with few rounds; `*.faults.ts` are run only here.
 *
 * @type {import('jest').Config}
 */
export default {
  ...everyRun,
  testMatch: ['<rootDir>/test/faults/**/*.{test,faults}.ts'],
  // Two at once would measure each other.
  maxWorkers: 1,
  verbose: true,
  globals: { faultRounds: 20 },
};
