import { type Logger, pino } from 'pino';
import { lineWriter } from '../process/line-writer.ts';
import { say } from '../process/say.ts';

/** Characters that are gathered before they are written. */
const GROUP = 4_096;

/**
 * The log on stdout: a JSON line each, or readable text if a person is looking. Lines are written in groups, since one
 * system call each would cost more than everything else about them; a crash of this process writes what is left and why
 * it ends, only a kill loses it. A log that cannot be written stops nothing: it is reported on stderr once, and lines
 * are dropped.
 *
 * @param onDrop is called for each line that is dropped
 */
export async function createLog(level: string, onDrop = () => {}): Promise<Logger> {
  const stdout = lineWriter(process.stdout, { group: GROUP, onDrop, onTrouble: reportOnce() });
  process.on('exit', stdout.flush);
  const render = process.stdout.isTTY ? await readable() : (line: string) => line;
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
    say(`The log cannot be written (${reason}): lines are dropped and counted, and everything else goes on.`);
  };
}

/**
 * One line for each request, in the order that a person reads; an error's stack takes more. What only a machine needs is
 * left out.
 */
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

/** Without an error's other properties: a driver's hold whole connections, a parser's whole bodies. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return { name, code, message, stack, ...(cause !== undefined && { cause: describe(cause) }) };
}
