import { say } from './say.ts';

const FAILED = 1;

/**
 * Runs a command to its end and sets the exit code. An error prints its message on stderr, with exit code 1.
 *
 * @param usage printed on stdout if the command line asks for help
 * @param parse parses the command line; it throws an Error that says what is wrong with it
 * @param run resolves to the exit code
 */
export async function runCommand<Arguments extends object>(
  usage: string,
  parse: (args: readonly string[]) => Arguments | 'help',
  run: (args: Arguments) => Promise<number>,
): Promise<void> {
  // A failed write of the progress bar must not end the command.
  process.stderr.on('error', () => {});
  try {
    const args = parse(process.argv.slice(2));
    if (args === 'help') console.log(usage);
    else process.exitCode = await run(args);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = FAILED;
  }
}
