/**
 * What every run of Jest has.
 *
 * @type {import('jest').Config}
 */
export const base = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', { jsc: { target: 'esnext', parser: { syntax: 'typescript' } } }] },
  globalSetup: '<rootDir>/test/support/jest/start-database.ts',
  globalTeardown: '<rootDir>/test/support/jest/stop-database.ts',
  // How often test/faults does each of its crashes; npm run test:faults does more.
  globals: { faultRounds: 1 },
};

/** A busy machine can take many seconds to start a process. */
export const testTimeout = 120_000;

/** Tests of what happens at a certain moment or under much load. */
const sensitive = [
  'adapters/http/request/overload',
  'adapters/http/sockets/connection-limits',
  'adapters/http/sockets/flood',
  'hostile/hostile',
].map((name) => `<rootDir>/test/${name}.test.ts`);

/**
 * What npm test leaves out because it is slow, besides *.full.ts: the README's commands in a newcomer's clone.
 */
export const slow = ['<rootDir>/test/project/readme.test.ts'];

/*
 * npm test: two files at a time, then those that another one beside them would disturb, one after another.
 *
 * @type {import('jest').Config}
 */
export default {
  testTimeout,
  maxWorkers: 2,
  projects: [
    { ...base, testMatch: ['<rootDir>/test/**/*.test.ts'], testPathIgnorePatterns: [...sensitive, ...slow] },
    { ...base, testMatch: sensitive, runner: '<rootDir>/test/support/jest/serial-runner.js' },
  ],
};
