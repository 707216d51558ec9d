import { lineWriter } from './line-writer.ts';

const stderr = lineWriter(process.stderr, { group: 0 });
process.on('exit', stderr.flush);

/** Writes a text for people to stderr, if that can be written; the log has stdout to itself. */
export function say(text: string): void {
  stderr.write(`${text}\n`);
}
