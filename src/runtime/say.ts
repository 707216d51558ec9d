import { lineWriter } from './line-writer.ts';

const stderr = lineWriter(process.stderr, 0);
process.on('exit', stderr.flush);

/** Prints a message for people to stderr, if that can be written; stdout is reserved for the log. */
export function say(text: string): void {
  stderr.write(`${text}\n`);
}
