import { type Logger, pino } from 'pino';
import { ATOMIC_WRITE, lineWriter } from '../process/line-writer.ts';
import { say } from '../process/say.ts';

/** The log of a process. */
export interface ProcessLog {
  readonly log: Logger;
  /** Writes a line of the log that is JSON already, with its line feed. */
  readonly writeLine: (line: string) => void;
  /** How many lines could not be written so far. */
  readonly droppedLines: () => number;
}

/**
 * The log on stdout: JSON lines of at most 4 KiB, or readable text on a terminal. Lines are written in groups, since a
 * system call for each would cost more than everything else about it. A crash still writes the queued lines and its
 * cause; only a kill loses them. A log that cannot be written stops nothing: that is reported once on stderr, and lines
 * are dropped.
 */
export async function createLog(level: string): Promise<ProcessLog> {
  let dropped = 0;
  let isReported = false;
  const stdout = lineWriter(process.stdout, {
    group: ATOMIC_WRITE,
    onDrop: () => void dropped++,
    onFailure(reason) {
      if (isReported) return;
      isReported = true;
      say(`The log cannot be written (${reason}): lines are dropped and counted, and the service continues.`);
    },
  });
  process.on('exit', stdout.flush);
  const render = process.stdout.isTTY ? await readable() : (line: string) => shortenedLine(line, ATOMIC_WRITE);
  const write = (line: string) => stdout.write(render(line));
  const log = pino({ level, base: null, serializers: { err: describe } }, { write });
  process.on('uncaughtExceptionMonitor', (err) => log.fatal({ err }, 'crash'));
  return { log, writeLine: write, droppedLines: () => dropped };
}

/** One line for each request, plus an error's stack; fields that only machines need are omitted. */
async function readable(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    messageFormat:
      '{msg}{if method} {method} {path}{end}{if status} {status}{end}{if error} {error}{end}' +
      '{if durationMs} {durationMs} ms{end}{if requestId} {requestId}{end}',
    ignore: 'method,path,status,error,durationMs,requestId,bytesIn,bytesOut',
  });
}

/**
 * Shortens a line of JSON by cutting its longest strings, such as the path of a request or the stack of an error.
 *
 * @param line one JSON value and a line feed
 * @param most bytes, line feed included; only a line with hundreds of members can remain longer
 */
export function shortenedLine(line: string, most: number): string {
  // UTF-8 has at most three bytes for one of UTF-16's units.
  if (line.length * 3 <= most || Buffer.byteLength(line) <= most) return line;
  let shorter = line;
  for (let longest = most / 2; longest >= 1 && Buffer.byteLength(shorter) > most; longest /= 2) {
    const cut = (_: string, value: unknown) =>
      typeof value === 'string' && value.length > longest ? `${value.slice(0, longest).toWellFormed()}…` : value;
    shorter = `${JSON.stringify(JSON.parse(line, cut))}\n`;
  }
  return shorter;
}

/** Omits an error's other properties: a driver's hold whole connections, a parser's whole bodies. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return { name, code, message, stack, ...(cause !== undefined && { cause: describe(cause) }) };
}
