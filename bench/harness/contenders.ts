import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { plantStore, type ServerProgram } from '../../tooling/server-process.ts';

interface Contender extends ServerProgram {
  /** What it commits at once; each is on the disk before its response, as with the service: they set nothing. */
  readonly commits: string;
  readonly logs: boolean;
}

const HERE = 'bench/contenders';
const BUN = join(import.meta.dirname, `../contenders/bun/node_modules/@oven/bun-${platform()}-${arch()}/bin/bun`);
const each = { commits: 'each create', logs: true, stores: true } as const;

export const fastify: Contender = { ...each, title: 'Fastify + pg', script: `${HERE}/fastify-pg.ts` };

/** In the order in which they take their turns. */
const all: readonly Contender[] = [
  { ...plantStore, commits: 'a group', logs: true },
  fastify,
  { ...each, title: 'Fastify + postgres.js', script: `${HERE}/fastify-postgres.ts` },
  { ...each, title: 'Bun + Elysia + Bun.sql', script: `${HERE}/bun/elysia.ts`, runtime: BUN },
  { ...each, title: 'Go net/http + pgx', script: `${HERE}/go-pgx/main.go`, runtime: '' },
  { title: 'bare node:http', script: `${HERE}/bare-http.ts`, commits: 'nothing', logs: false, stores: false },
];

/** Those that this machine can start; what is missing is reported on stderr. @param folder for what is built */
export async function contenders(folder: string): Promise<Contender[]> {
  const found: Contender[] = [];
  for (const contender of all) {
    const isMissing = contender.runtime === BUN && !existsSync(BUN);
    if (isMissing) console.error(`${contender.title} is left out: npm ci --prefix ${HERE}/bun installs it`);
    const script = contender.runtime === '' ? await built(contender, folder) : contender.script;
    if (script !== undefined && !isMissing) found.push({ ...contender, script });
  }
  return found;
}

/** Builds a program that is written in Go. @returns the path of the program, if this machine can build it */
async function built({ title, script }: Contender, folder: string): Promise<string | undefined> {
  const binary = join(folder, 'go-program');
  try {
    await promisify(execFile)('go', ['build', '-o', binary, script], {
      cwd: join(import.meta.dirname, '../..'),
      // Where Debian's packages of Go's libraries are, such as golang-github-jackc-pgx-v4-dev.
      env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' },
    });
    return binary;
  } catch (error) {
    const { message, stderr } = error as Error & { stderr?: string };
    console.error(`${title} is left out, since it cannot be built here: ${(stderr || message).split('\n', 1)}`);
    return undefined;
  }
}
