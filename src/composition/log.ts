import { type Logger, type LoggerOptions, pino } from 'pino';

/** Bytes of log lines that are gathered before they are written, and the milliseconds they wait at most. */
const BUFFER = { minLength: 4_096, periodicFlush: 100 };

/**
 * The log on stdout: a JSON line each, or readable text if a person is looking. Lines are written in groups, since one
 * system call each would cost more than the rest of the log; a crash of this process writes what is left and why it ends,
 * only a kill loses it.
 */
export async function createLog(level: string): Promise<Logger> {
  const log = await open({ level, base: null, serializers: { err: describe } });
  process.on('uncaughtExceptionMonitor', (err) => log.fatal({ err }, 'crash'));
  return log;
}

async function open(options: LoggerOptions): Promise<Logger> {
  if (process.stdout.isTTY) return pino(options, (await import('pino-pretty')).PinoPretty());
  const stdout = pino.destination({ dest: 1, sync: false, ...BUFFER });
  process.on('exit', () => stdout.flushSync());
  return pino(options, stdout);
}

/** Without an error's other properties: a driver's hold whole connections, a parser's whole bodies. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  return { name, code, message, stack, ...(cause !== undefined && { cause: describe(cause) }) };
}
