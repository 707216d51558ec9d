import { type Logger, pino } from 'pino';
import { lineWriter } from '../runtime/line-writer.ts';
import { say } from '../runtime/say.ts';

/** Characters to collect before writing, unless a person reads them; after 10 ms, fewer are written. */
const GROUP_LENGTH_MIN = 32_768;

/**
 * The log on stdout: JSON lines, or readable text on a terminal. Lines are written in groups, since a system call for
 * each line would cost more than everything else about the line. A crash still writes the queued lines and its cause;
 * only a kill loses them. A failure to write the log is reported once on stderr, drops lines, and stops nothing.
 */
export async function createLog(level: string): Promise<Logger> {
  let isReported = false;
  const stdout = lineWriter(process.stdout, process.stdout.isTTY ? 0 : GROUP_LENGTH_MIN, (reason) => {
    if (!isReported) say(`The log cannot be written (${reason}): lines are dropped, and the service continues.`);
    isReported = true;
  });
  process.on('exit', stdout.flush);
  const render = process.stdout.isTTY ? await readable() : (line: string) => line;
  const write = (line: string) => stdout.write(render(line));
  const log = pino({ level, base: null, serializers: { err: (error) => describe(error) } }, { write });
  process.on('uncaughtExceptionMonitor', (err) => log.fatal({ err }, 'crash'));
  return log;
}

/** Formats a line for each request, plus the stack of an error, without fields that only machines need. */
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

/** The most causes of an error that are logged: errors may cause each other. */
const CAUSES_MAX = 5;

/** Omits other properties of an error: those of a driver contain whole connections, those of a parser whole bodies. */
function describe(error: unknown, causes = CAUSES_MAX): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return {
    name,
    code,
    message,
    stack,
    ...(cause !== undefined && causes > 0 && { cause: describe(cause, causes - 1) }),
  };
}
