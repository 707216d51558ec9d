import { base, testTimeout } from './jest.config.js';

/* What runs in a real browser: npm run test:browser. */

/** @type {import('jest').Config} */
export default { ...base, testMatch: ['<rootDir>/test/**/*.browser.ts'], testTimeout };
