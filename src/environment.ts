import { existsSync } from 'node:fs';

/** The process's environment, and what the file .env of its folder adds to it. @throws Error if that cannot be read */
export function environment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}
