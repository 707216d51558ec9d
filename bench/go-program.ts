import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ServerProgram } from '../tooling/server-process.ts';

/** Where Debian's packages of Go's libraries are, such as golang-github-jackc-pgx-v4-dev. */
const GOPATH = '/usr/share/gocode';

/**
 * Builds a program that is written in Go.
 *
 * @returns it as it can be started, or undefined if this machine cannot build it, which is reported on stderr
 */
export async function builtGo(program: ServerProgram, folder: string): Promise<ServerProgram | undefined> {
  const binary = join(folder, 'go-program');
  try {
    await promisify(execFile)('go', ['build', '-o', binary, program.script], {
      cwd: join(import.meta.dirname, '..'),
      env: { ...process.env, GO111MODULE: 'off', GOPATH },
    });
    return { ...program, script: binary, runtime: '' };
  } catch (error) {
    const { message, stderr } = error as Error & { stderr?: string };
    const [reason] = (stderr || message).split('\n', 1);
    console.error(`${program.title} is left out, since it cannot be built here: ${reason}`);
    return undefined;
  }
}
