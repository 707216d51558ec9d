import { base, testTimeout } from './jest.config.js';

/* What runs in a real browser: npm run test:browser. It needs no database. */
const { globalSetup: _, globalTeardown: __, ...rest } = base;

/** @type {import('jest').Config} */
export default { ...rest, testMatch: ['<rootDir>/test/**/*.browser.ts'], testTimeout };
