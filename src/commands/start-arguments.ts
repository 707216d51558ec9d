import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parsedCommandLine } from './run-command.ts';

const USAGE = `Usage: npm start [-- --version | --help]

Starts the service. Environment variables and the file .env configure it: docs/configuration.md lists them.

  --version    shows the version
  -h, --help   shows this`;

/**
 * Reads the command line of npm start.
 *
 * @returns what to print instead of a start
 * @throws Error, saying what is wrong with it and how to get help
 */
export function startArguments(args: readonly string[]): string | undefined {
  const { values } = parsedCommandLine('start', () =>
    parseArgs({ args: [...args], options: { version: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } }),
  );
  if (values.help) return USAGE;
  return values.version ? version() : undefined;
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
