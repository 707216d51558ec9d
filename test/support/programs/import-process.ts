import { projectFile, startNode } from '../service-process.ts';

/* npm run import as its own process, as people meet it. */

export const IMPORT = projectFile('src/import.ts');

export function startImport(args: readonly string[], folder: string, environment?: Record<string, string>) {
  return startNode([IMPORT, ...args], folder, environment);
}

/** Runs it to its end. */
export async function runImport(args: readonly string[], folder: string, environment?: Record<string, string>) {
  const run = startImport(args, folder, environment);
  const { code } = await run.exited;
  return { code, stdout: run.stdout(), stderr: run.stderr() };
}

/** The counts of a summary. */
export function counts(stdout: string): Record<string, number> {
  const rows = [...stdout.matchAll(/^(created|already there|conflicting|invalid) +([\d,]+)$/gm)];
  return Object.fromEntries(rows.map(([, name, count]) => [name, Number(count?.replaceAll(',', ''))]));
}
