/*
 * Each script of package.json selects projects: npm test quick, rest and alone; npm run test:full the one named full.
 * What a file is called says which project it belongs to.
 */

const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { target: 'esnext', parser: { syntax: 'typescript' } } }] },
};

/** With a Postgres, and folders for what takes long to make. */
const equipped = {
  ...base,
  globalSetup: '<rootDir>/test/support/jest/start-database.ts',
  globalTeardown: '<rootDir>/test/support/jest/stop-database.ts',
};

/** Their tests run in memory: no database, no other process. */
const quick = ['domain', 'application', 'formats', 'lists', 'config', 'adapters/http'].map(
  (name) => `<rootDir>/test/${name}/`,
);

/** @type {import('jest').Config} */
export default {
  // A busy machine can take many seconds to start a process.
  testTimeout: 120_000,
  projects: [
    {
      ...base,
      displayName: 'quick',
      testMatch: quick.map((folder) => `${folder}**/*.test.ts`),
    },
    {
      ...equipped,
      displayName: 'rest',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: quick,
    },
    {
      ...base,
      displayName: 'alone',
      // What happens at a certain moment or under much load, which another file beside it would disturb.
      testMatch: ['<rootDir>/test/**/*.alone.ts'],
      runner: '<rootDir>/test/support/jest/serial-runner.js',
    },
    { ...equipped, displayName: 'full', testMatch: ['<rootDir>/test/**/*.full.ts'] },
    {
      ...equipped,
      displayName: 'faults',
      testMatch: ['<rootDir>/test/faults/**/*.{full,faults}.ts'],
    },
    { ...equipped, displayName: 'browser', testMatch: ['<rootDir>/test/**/*.browser.ts'] },
    {
      ...equipped,
      displayName: 'distributed',
      // The tests of the repository run on the Citus cluster.
      testMatch: ['<rootDir>/test/distributed/**/*.distributed.ts', '<rootDir>/test/adapters/plant-repository.test.ts'],
    },
  ],
};
