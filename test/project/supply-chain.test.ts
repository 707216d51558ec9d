import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { projectFile } from '../support/service-process.ts';

/** A link is to a package of this project. */
type Locked = Partial<
  Record<'link' | 'hasInstallScript' | 'dev' | 'optional', boolean> & Record<'os' | 'cpu' | 'libc', string[]>
> & { readonly integrity?: string; readonly bin?: Readonly<Record<string, string>> };

const text = (path: string) => readFile(projectFile(path), 'utf8');

/** Whether npm installs it on Linux with glibc, on x64 or arm64. */
function isForLinux({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: Locked): boolean {
  return os.includes('linux') && (cpu.includes('x64') || cpu.includes('arm64')) && libc.includes('glibc');
}

/** With the packages whose install scripts do nothing that is needed; .npmrc keeps them from running. */
test.each([
  ['', ['node_modules/@scarf/scarf']],
  ['test/postgres-versions/', ['node_modules/postgres-13', 'node_modules/postgres-14']],
])('%s: versions are exact, locked with hashes, and need no install script', async (folder, scripts) => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(await text(`${folder}package.json`));
  const versions: string[] = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies });
  expect(versions.filter((version) => !/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  expect(await text(`${folder}.npmrc`)).toMatch(/^ignore-scripts=true$/m);

  const all: [string, Locked][] = Object.entries(JSON.parse(await text(`${folder}package-lock.json`)).packages);
  const others = all.filter(([path, { link }]) => path.includes('node_modules/') && link !== true);
  const namesOf = (condition: (locked: Locked) => boolean) =>
    others.filter(([, locked]) => condition(locked)).map(([path]) => path);
  expect(others.length).toBeGreaterThan(1);
  const hasHash = ({ integrity = '' }: Locked) => /^sha512-[\w+/]{86}==$/.test(integrity);
  expect(namesOf((locked) => (!locked.dev || isForLinux(locked)) && !hasHash(locked))).toEqual([]);
  expect(namesOf(({ dev, hasInstallScript }) => !dev && hasInstallScript === true)).toEqual(scripts);
  // npm 10 removes the link to a program that a package of another platform has, too, as for Node.js 20 and 22.
  const programs = others.flatMap(([, { optional, bin }]) => (optional ? Object.keys(bin ?? {}) : []));
  expect(programs).toEqual([...new Set(programs)]);
});

test.each(['src', 'web'])('nothing in %s is a symbolic link, which Git does not make everywhere', async (folder) => {
  const source = await readdir(projectFile(folder), { recursive: true, withFileTypes: true });
  expect(source.length).toBeGreaterThan(20);
  expect(source.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name)).toEqual([]);
});
