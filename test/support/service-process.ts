import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';

/* Programs of this project as processes of their own; what a test starts ends, and is removed, with the test. */

/** A file of this project, by its path in it. */
export const projectFile = (path: string) => join(import.meta.dirname, '../..', path);

export interface NodeProcess {
  readonly pid: number | undefined;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** What it reads from standard input, which is open until `end` is called. */
  readonly stdin: NodeJS.WritableStream;
  /** Settles once it has ended and all it said is here. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Resolves once it has said enough for the condition to hold; rejects if it ends before. */
  until(condition: () => boolean): Promise<void>;
}

export interface Service extends NodeProcess {
  readonly apiUrl: string;
  readonly managementUrl: string;
  /** The command to paste that its start message shows if it has made its own token. */
  curl(): Promise<string>;
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** An empty folder, removed at the end of the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-test-'));
  cleanUps.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What every Node.js process gets, so that only the first in a run compiles what they share. */
export const compileCache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

/**
 * Runs Node.js in a folder, with these variables, PATH and the compile cache as its whole environment.
 *
 * @param detached whether it leads a process group of its own, for signals to it and all that it starts
 */
export function startNode(
  args: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
  detached = false,
): NodeProcess {
  return startProgram(process.execPath, args, {
    cwd,
    detached,
    env: { PATH: process.env.PATH, ...compileCache, ...environment },
  });
}

export function startProgram(command: string, args: readonly string[], options: SpawnOptionsWithoutStdio): NodeProcess {
  const child = spawn(command, args, options);
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  cleanUps.push(() => {
    child.kill('SIGKILL');
    return exited;
  });

  let said = Promise.withResolvers<void>();
  const collected = (stream: NodeJS.ReadableStream) => {
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      said.resolve();
      said = Promise.withResolvers();
    });
    return () => text;
  };
  const stdout = collected(child.stdout);
  const stderr = collected(child.stderr);

  return {
    pid: child.pid,
    stdout,
    stderr,
    kill: (signal) => child.kill(signal),
    stdin: child.stdin,
    exited,
    async until(condition) {
      while (!condition()) {
        const exit = await Promise.race([said.promise, exited]);
        if (exit !== undefined && !condition()) throw new Error(`it has ended:\n${stderr()}`);
      }
    },
  };
}

/** The service on free ports, which nothing has to notice its end, unless the environment says otherwise. */
export function startMain(cwd: string, environment: Record<string, string> = {}, detached = false): NodeProcess {
  const defaults = { PORT: '0', MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '0' };
  return startNode([projectFile('src/main.ts')], cwd, { ...defaults, ...environment }, detached);
}

/** The same, once it listens. */
export async function startService(
  cwd: string,
  environment: Record<string, string> = {},
  detached = false,
): Promise<Service> {
  const service = startMain(cwd, environment, detached);
  const found = async (pattern: RegExp) => {
    await service.until(() => pattern.test(service.stderr()));
    return pattern.exec(service.stderr()) ?? [];
  };
  const [, apiUrl = '', managementUrl = ''] = await found(/listens at (\S+), management at (\S+)\n/);
  const curl = async () => (await found(/^(curl .*)\n/m))[1] ?? '';
  return { ...service, apiUrl, managementUrl, curl };
}

/** How a service ends, what it says and which files it leaves if the ports of these variables are in use. */
export async function startOnUsedPorts(names: readonly string[], environment: Record<string, string> = {}) {
  const occupants = names.map((name) => [name, createServer().listen(0, '127.0.0.1')] as const);
  await Promise.all(occupants.map(([, server]) => once(server, 'listening')));
  try {
    const ports = occupants.map(([name, server]) => [name, `${(server.address() as AddressInfo).port}`] as const);
    const folder = await temporaryFolder();
    const service = startMain(folder, { ...environment, ...Object.fromEntries(ports) });
    const { code } = await service.exited;
    const lines = ports.map(
      ([name, port]) =>
        `${name} ${port} is in use: stop the process that listens there, or set ${name} to another port\n`,
    );
    return { code, stderr: service.stderr(), files: await readdir(folder), expected: lines.join('') };
  } finally {
    for (const [, server] of occupants) server.close();
  }
}
