import { type Logger, pino } from 'pino';
import { ATOMIC_WRITE, lineWriter } from '../process/line-writer.ts';
import { say } from '../process/say.ts';
import { shortenedLine } from './shortened-line.ts';

/** Characters to collect before writing. */
const GROUP = 4_096;

/**
 * The log on stdout: JSON lines, or readable text on a terminal. Lines are written in groups, since a system call for
 * each would cost more than everything else about it. A crash still writes the queued lines and its cause; only a kill
 * loses them. A log that cannot be written stops nothing: that is reported once on stderr, and lines are dropped.
 *
 * @param onDrop called for each dropped line
 * @param isShared whether other processes write to this stdout too; long lines are then shortened, so that none is torn
 */
export async function createLog(level: string, onDrop = () => {}, isShared = false): Promise<Logger> {
  const stdout = lineWriter(process.stdout, { group: GROUP, isShared, onDrop, onFailure: reportOnce() });
  process.on('exit', stdout.flush);
  const whole = (line: string) => (isShared ? shortenedLine(line, ATOMIC_WRITE) : line);
  const render = process.stdout.isTTY ? await readable() : whole;
  const log = pino(
    { level, base: null, serializers: { err: describe } },
    { write: (line) => stdout.write(render(line)) },
  );
  process.on('uncaughtExceptionMonitor', (err) => log.fatal({ err }, 'crash'));
  return log;
}

function reportOnce(): (reason: string) => void {
  let reported = false;
  return (reason) => {
    if (reported) return;
    reported = true;
    say(`The log cannot be written (${reason}): lines are dropped and counted, and the service continues.`);
  };
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

/** Omits an error's other properties: a driver's hold whole connections, a parser's whole bodies. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return { name, code, message, stack, ...(cause !== undefined && { cause: describe(cause) }) };
}
