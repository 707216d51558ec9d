import { execFile } from 'node:child_process';
import { compileCache } from '../service-process.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. @throws Error if it cannot be run */
export function run(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
): Promise<Outcome> {
  const options = { cwd, env: { PATH: process.env.PATH, ...compileCache, ...env }, maxBuffer: 64 * 1024 ** 2 };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (typeof error?.code === 'string') reject(new Error(`cannot run ${program}: ${error.message}`));
      else resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}
