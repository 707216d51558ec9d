import { resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { say } from '../runtime/say.ts';

/**
 * Runs a command. An error prints its message on stderr, with exit code 1.
 *
 * @param name in package.json
 * @param usage printed on stdout for --help
 * @param parse parses the command line; it throws an Error that says what is wrong with it
 * @param failed printed before the message of an error
 */
export async function runCommand<Arguments>(
  name: string,
  usage: string,
  parse: (args: string[]) => Arguments,
  run: (args: Arguments) => Promise<void>,
  failed = '',
): Promise<void> {
  // A failed write of the progress bar must not end the command.
  process.stderr.on('error', () => {});
  try {
    const args = process.argv.slice(2);
    if (args.includes('--help') || args.includes('-h'))
      console.log(`${usage}\n\nEvery command accepts --help and --version.`);
    else if (args.includes('--version')) console.log(manifest.version);
    else await run(parsedCommandLine(name, () => parse(args)));
  } catch (error) {
    say(failed + (error instanceof Error ? error.message : String(error)));
    process.exit(1);
  }
}

/** Adds how to get help to an error of the command line. */
function parsedCommandLine<Arguments>(name: string, parse: () => Arguments): Arguments {
  try {
    return parse();
  } catch (error) {
    // Node.js adds advice about arguments that begin with a dash, which no command has.
    const [message] = (error as Error).message.split('. To specify a positional argument');
    throw new Error(`${message}\nFor help: npm run ${name} -- --help`);
  }
}

/** npm runs a command in the folder of the project, wherever it was called: `npm --prefix`. @param name in package.json */
export function inOwnFolder(name: string, path: string): string {
  const { npm_lifecycle_event: script, INIT_CWD: folder = '' } = process.env;
  return script === name ? resolve(folder, path) : path;
}
