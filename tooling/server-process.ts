import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Session } from './session.ts';

/** What every server accepts; it guards nothing. */
export const TOKEN = 'token-for-the-bench';

/** A server to be measured. */
export interface ServerProgram {
  readonly title: string;
  /** What Node runs, from the project's folder. */
  readonly script: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether each response of 200 promises a row in the table. */
  readonly stores: boolean;
}

export const plantStore: ServerProgram = { title: 'Plant Store', script: 'src/main.ts', stores: true };

/** One that is running. */
export interface Server extends ServerProgram {
  readonly url: string;
  readonly pid: number;
  /** The lines it writes to stderr. */
  readonly lines: Interface;
}

interface StartOptions {
  readonly nodeFlags?: readonly string[];
  /** The file of its log; /dev/null if none is given, since a disk that Postgres needs is not to be measured. */
  readonly log?: string;
}

/** Starts a server as in production, on free ports, until the session ends. */
export async function startServer(
  program: ServerProgram,
  databaseUrl: string,
  { folder, opened }: Session,
  { nodeFlags = [], log = '/dev/null' }: StartOptions = {},
): Promise<Server> {
  const { title, script, environment } = program;
  const stdout = await open(log, 'w');
  const child = spawn(process.execPath, [...nodeFlags, join(import.meta.dirname, '..', script)], {
    // No settings but these: not the caller's environment, nor the .env of the caller's folder.
    cwd: folder,
    env: {
      NODE_ENV: 'production',
      PORT: '0',
      MANAGEMENT_PORT: '0',
      SHUTDOWN_DELAY: '0',
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: databaseUrl,
      ...environment,
    },
    stdio: ['ignore', stdout.fd, 'pipe'],
  });
  await stdout.close();
  const ended = once(child, 'exit');
  opened.defer(async () => {
    child.kill('SIGTERM');
    const deadline = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await ended;
    clearTimeout(deadline);
  });

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
  return { ...program, url, pid: child.pid ?? 0, lines };
}
