import { base, testTimeout } from './jest.config.js';

/*
 * npm run test:distributed: on the clusters that CITUS_URL, PATRONI_URL, PATRONI_API and ETCD_URL name
 * (CONTRIBUTING.md). FAULT_ROUNDS says how often each fault is done.
 *
 * @type {import('jest').Config}
 */
export default {
  ...base,
  testTimeout,
  testMatch: [
    '<rootDir>/test/distributed/**/*.distributed.ts',
    // On the Citus cluster.
    '<rootDir>/test/adapters/plant-repository*.test.ts',
  ],
  maxWorkers: 1,
  verbose: true,
  globals: { onClusters: true, faultRounds: Number(process.env.FAULT_ROUNDS ?? 1) },
};
