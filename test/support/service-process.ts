import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NOBODY } from '../../tooling/postgres-server.ts';
import { CLOSE, TOKEN } from './api-server.ts';
import { eventually } from './eventually.ts';
import { atEnd } from './lifetimes.ts';

/* Programs as processes of their own, which end with the test. */

/** A file of this project, by its path in it. */
export const projectFile = (path: string) => join(import.meta.dirname, '../..', path);

export type NodeProcess = ReturnType<typeof startProgram>;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Outcome {
  /** null if a signal has ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Service extends NodeProcess {
  readonly apiUrl: string;
  readonly managementUrl: string;
  /** The command to paste that its start message shows if it has made its own token. */
  curl(): Promise<string>;
}

/** An empty folder, removed at the end of the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-test-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What every Node.js process gets, so that only the first in a run compiles what they share. */
const compileCache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

export interface NodeOptions {
  /** Whether it leads a process group of its own, for signals to it and all that it starts. */
  readonly detached?: boolean;
  /** A program that becomes the one that its further arguments name, and its first arguments. */
  readonly wrapper?: readonly string[];
}

export interface ServiceOptions extends NodeOptions {
  /** The folder of another version. */
  readonly version?: string;
}

/** Runs Node.js in a folder, with these variables, PATH and the compile cache as its whole environment. */
export function startNode(
  args: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
  { detached = false, wrapper = [] }: NodeOptions = {},
): NodeProcess {
  const [command = '', ...all] = [...wrapper, process.execPath, ...args];
  return startProgram(command, all, {
    cwd,
    detached,
    env: { PATH: process.env.PATH, ...compileCache, ...environment },
  });
}

export function startProgram(command: string, args: readonly string[], options: SpawnOptionsWithoutStdio) {
  const child = spawn(command, args, options);
  const exited: Promise<Exit> = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  atEnd(async () => {
    child.kill('SIGKILL');
    // It may not have begun.
    await exited.catch(() => {});
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
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** What it reads from standard input, which is open until `end` is called. */
    stdin: child.stdin,
    /** Settles once it has ended and all it said is here. */
    exited,
    /** How it ends, and all that it says. */
    async outcome(): Promise<Outcome> {
      const { code } = await exited;
      return { code, stdout: stdout(), stderr: stderr() };
    },
    /** Resolves once it has said enough for the condition to hold; rejects if it ends before. */
    async until(condition: () => boolean): Promise<void> {
      while (!condition()) {
        const exit = await Promise.race([said.promise, exited]);
        if (exit !== undefined && !condition()) throw new Error(`it has ended:\n${stderr()}`);
      }
    },
    /** The same of a condition that nothing announces. */
    async eventually(condition: () => Promise<boolean>): Promise<void> {
      const ended = exited.then(() => {
        throw new Error(`${command} has ended:\n${stderr()}`);
      });
      await Promise.race([eventually(condition), ended]);
    },
  };
}

/** Runs a command of src to its end, in a folder of its own unless one is given. */
export async function runCommand(
  name: string,
  args: readonly string[],
  environment: Record<string, string>,
  folder?: string,
): Promise<Outcome> {
  const all = [projectFile(`src/${name}.ts`), ...args];
  return startNode(all, folder ?? (await temporaryFolder()), environment).outcome();
}

/** Starts a server of this machine that root cannot run: as nobody then. */
export function startAsNobody(command: string, args: readonly string[]): NodeProcess {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  return startProgram(command, args, { cwd: '/', ...user });
}

/** The environment of a Node.js process whose clock is an hour ahead: to `purge`, every deletion is long ago. */
export const AN_HOUR_LATER = {
  NODE_OPTIONS: '--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+3600001',
};

/** Runs a program to its end, with these variables, PATH and the compile cache as its whole environment. */
export function run(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd?: string,
): Promise<Outcome> {
  const env = { PATH: process.env.PATH, ...compileCache, ...environment };
  return startProgram(program, args, { env, ...(cwd !== undefined && { cwd }) }).outcome();
}

/** The service on free ports, which nothing has to notice its end, unless the environment says otherwise. */
export function startMain(
  cwd: string,
  environment: Record<string, string> = {},
  { version = projectFile(''), ...options }: ServiceOptions = {},
): NodeProcess {
  const env = { PORT: '0', MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '0', ...environment };
  return startNode(['--max-semi-space-size=8', join(version, 'src/main.ts')], cwd, env, options);
}

/** The same, once it listens. */
export async function startService(
  cwd: string,
  environment: Record<string, string> = {},
  options?: ServiceOptions,
): Promise<Service> {
  const service = startMain(cwd, environment, options);
  const found = async (pattern: RegExp) => {
    await service.until(() => pattern.test(service.stderr()));
    return pattern.exec(service.stderr()) ?? [];
  };
  const [, apiUrl = '', managementUrl = ''] = await found(/listens at (\S+), management at (\S+)\n/);
  const curl = async () => (await found(/^(curl .*)\n/m))[1] ?? '';
  return { ...service, apiUrl, managementUrl, curl };
}

/** The same in a folder of its own, with TOKEN. */
export const startWith = async (environment: Record<string, string>, options?: ServiceOptions): Promise<Service> =>
  startService(await temporaryFolder(), { ACCESS_TOKENS: TOKEN, ...environment }, options);

/** What /ready says, once it has not to wait for the database, as on a busy machine. */
export async function readiness({ managementUrl }: Pick<Service, 'managementUrl'>) {
  for (;;) {
    const response = await fetch(`${managementUrl}/ready`, { headers: CLOSE });
    const body = (await response.json()) as { error?: number; checks: { database: string } };
    if (!/^no response within/.test(body.checks.database)) return { ...body, status: response.status };
  }
}
