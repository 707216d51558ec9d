import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { promisify } from 'node:util';
import type { Session } from './session.ts';

/** What every server accepts; it guards nothing. */
export const TOKEN = 'token-for-the-bench';

/** A server to be measured. */
export interface ServerProgram {
  readonly title: string;
  /** What runs, by its path from the project's folder, or an absolute one. */
  readonly script: string;
  /** What runs it, instead of Node; '' if it runs by itself. */
  readonly runtime?: string;
  /** Of Node. */
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether each response of 200 promises a row in the table. */
  readonly stores: boolean;
}

export const plantStore: ServerProgram = {
  title: 'Plant Store',
  script: 'src/main.ts',
  flags: ['--max-semi-space-size=8'],
  stores: true,
};

/** One that is running. */
export interface Server extends ServerProgram {
  readonly url: string;
  readonly pid: number;
  /** The lines it writes to stderr. */
  readonly lines: Interface;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

interface StartOptions {
  /** The file of its log. Without one, it is a pipe that another process reads, as a log collector would. */
  readonly log?: string;
}

/** Starts a server with its defaults, on free ports. It ends with the session unless it is stopped before. */
export async function startServer(
  program: ServerProgram,
  databaseUrl: string,
  { folder, opened, signal }: Session,
  { log }: StartOptions = {},
): Promise<Server> {
  const { title, script, runtime = process.execPath, flags = [], environment } = program;
  const stdout = await open(log ?? (await readPipe(folder)), 'w');
  const path = resolve(import.meta.dirname, '..', script);
  const [command, ...args] = runtime === '' ? [path] : [runtime, ...flags, path];
  signal.throwIfAborted();
  const child = spawn(command, args, {
    // No settings but these: not the caller's environment, nor the .env of the caller's folder.
    cwd: folder,
    env: {
      PORT: '0',
      MANAGEMENT_PORT: '0',
      SHUTDOWN_DELAY: '0',
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: databaseUrl,
      ...environment,
    },
    stdio: ['ignore', stdout.fd, 'pipe'],
  });
  const ended = once(child, 'exit');
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= end(child, ended);
    return stopping;
  };
  opened.defer(stop);
  await stdout.close();

  if (child.stderr === null) throw new TypeError('the server needs a piped stderr');
  const lines = createInterface(child.stderr);
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      said.push(line);
      const [, address] = /listens at (http:\/\/[\d.:]+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    lines.once('close', () => reject(new Error(`${title} did not start:\n${said.join('\n')}`)));
  });
  lines.removeAllListeners('line');
  return { ...program, url, pid: child.pid ?? 0, lines, stop };
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await ended;
  clearTimeout(deadline);
}

/** @returns a named pipe. What is written to it is read and dropped; that ends when its last writer does. */
async function readPipe(folder: string): Promise<string> {
  const pipe = join(await mkdtemp(join(folder, 'log-')), 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  spawn('sh', ['-c', 'exec cat < "$0" > /dev/null', pipe], { stdio: 'ignore' });
  return pipe;
}
