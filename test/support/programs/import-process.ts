import { type NodeOptions, projectFile, startNode } from '../service-process.ts';

/* npm run import as its own process, as people meet it. */

export function startImport(
  args: readonly string[],
  folder: string,
  environment?: Record<string, string>,
  options?: NodeOptions,
) {
  return startNode([projectFile('src/import.ts'), ...args], folder, environment, options);
}

/** Runs it to its end. */
export const runImport = (...run: Parameters<typeof startImport>) => startImport(...run).outcome();

/** The counts of a summary. */
export function counts(stdout: string): Record<string, number> {
  const rows = [...stdout.matchAll(/^(created|changed|unchanged|refused) +([\d,]+)$/gm)];
  return Object.fromEntries(rows.map(([, name, count]) => [name, Number(count?.replaceAll(',', ''))]));
}
