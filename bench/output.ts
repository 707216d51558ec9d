import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFigures } from './figures.ts';

/**
 * Writes figures beside this file, with four significant digits and one line for each innermost object, and takes them
 * over into the documents. Refuses what no commit has produced.
 */
export function publish(file: string, value: object): void {
  const changed = changedFiles();
  if (changed.length > 0) {
    console.error(`bench/${file} is not written, since these files differ from the commit: ${changed.join(', ')}`);
    process.exitCode = 1;
    return;
  }
  const rounded = (_key: string, member: unknown) =>
    typeof member === 'number' && !Number.isInteger(member) ? Number(member.toPrecision(4)) : member;
  const text = JSON.stringify(value, rounded, 2);
  writeText(file, `${text.replace(/[{[][^{}[\]]*[}\]]/g, (innermost) => innermost.replace(/\s*\n\s*/g, ' '))}\n`);
  writeFigures();
}

export function writeText(file: string, text: string): void {
  writeFileSync(join(import.meta.dirname, file), text);
  console.log(`wrote bench/${file}`);
}

/** The files that differ from the commit, without documents and what benches write. @throws Error outside of a checkout */
export function changedFiles(): string[] {
  const measured = ['.', ':!*.md', ':!bench/*.json', ':!bench/*.svg'];
  const cwd = join(import.meta.dirname, '..');
  const { status, stdout, stderr } = spawnSync('git', ['status', '--porcelain', '--', ...measured], {
    cwd,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`figures need the commit they are of: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
}
