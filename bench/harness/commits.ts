import { execFile } from 'node:child_process';
import { mkdtemp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Session } from '../../tooling/session.ts';

export const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The files of a commit, with its packages, in the session's folder. */
export async function checkedOut(commit: string, { folder, signal }: Session): Promise<string> {
  const inRoot = { cwd: ROOT, signal };
  const { stdout } = await run('git', ['rev-parse', '--verify', `${commit}^{commit}`], inRoot);
  const target = await mkdtemp(join(folder, 'commit-'));
  const archive = join(target, 'commit.tar');
  await run('git', ['archive', '-o', archive, stdout.trim()], inRoot);
  await run('tar', ['-xf', archive, '-C', target], { signal });
  if ((await packages(target)) === (await packages(ROOT))) {
    await symlink(join(ROOT, 'node_modules'), join(target, 'node_modules'));
  } else {
    console.error(`installing the packages of ${commit}, which differ from those here`);
    await run('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: target, signal });
  }
  return target;
}

/** What is installed for the service, as text. */
async function packages(folder: string): Promise<string> {
  const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
  const all = Object.entries<{ version?: string; dev?: boolean; link?: boolean }>(lock.packages);
  const installed = all.filter(([name, { dev, link }]) => name.startsWith('node_modules/') && !dev && !link);
  return JSON.stringify(installed.map(([name, { version }]) => [name, version]));
}
