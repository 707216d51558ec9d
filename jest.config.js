/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { target: 'esnext', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/start-database.ts',
  globalTeardown: '<rootDir>/test/support/stop-database.ts',
  // Opening an embedded database alone can take many seconds on a busy machine.
  testTimeout: 120_000,
  // How often test/faults does each of its crashes; npm run test:faults does more.
  globals: { faultRounds: 1 },
};
