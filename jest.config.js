/**
 * What every run of Jest has.
 *
 * @type {import('jest').Config}
 */
export const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { target: 'esnext', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/start-database.ts',
  globalTeardown: '<rootDir>/test/support/stop-database.ts',
  // A busy machine can take many seconds to start a process.
  testTimeout: 120_000,
  // How often test/faults does each of its crashes; npm run test:faults does more.
  globals: { faultRounds: 1 },
};

/** Tests of what happens at a certain moment or under much load. */
const sensitive = ['adapters/http/operations/{event-loop,overload}', 'adapters/http/sockets/*', 'hostile/*'].map(
  (files) => `<rootDir>/test/${files}.test.ts`,
);

/*
 * npm test: two files at a time, then those that another one beside them would disturb, one after another.
 *
 * @type {import('jest').Config}
 */
export default {
  maxWorkers: 2,
  projects: [
    { ...base, testMatch: ['<rootDir>/test/**/*.test.ts', ...sensitive.map((files) => `!${files}`)] },
    { ...base, testMatch: sensitive, runner: '<rootDir>/test/support/serial-runner.js' },
  ],
};
