import { base, slow, testTimeout } from './jest.config.js';

/*
 * npm run test:full: what npm test leaves out because it is slow. One file at a time, since they load the machine.
 *
 * @type {import('jest').Config}
 */
export default { ...base, testTimeout, testMatch: ['<rootDir>/test/**/*.full.ts', ...slow], maxWorkers: 1 };
