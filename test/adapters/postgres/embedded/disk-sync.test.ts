import fs from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
import { ownToken } from '../../../../src/adapters/tokens/own-token.ts';
import { embeddedFolder } from '../../../support/embedded-template.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { temporaryFolder } from '../../../support/service-process.ts';

/* What the embedded database writes to the disk, and when; test/faults/power-loss shows that it is enough. */

afterEach(() => {
  jest.restoreAllMocks();
});

async function open(folder: string): Promise<Database> {
  const database = await embeddedDatabase(folder);
  atEnd(database.close);
  return database;
}

/** Notes what is written and synced from now on, by the names of files. */
function notedCalls(): string[] {
  const calls: string[] = [];
  const nameOf = (fd: number) => basename(fs.readlinkSync(`/proc/self/fd/${fd}`));
  const { writeSync, fdatasyncSync, fsyncSync } = fs;
  jest.spyOn(fs, 'writeSync').mockImplementation(((fd: number, ...rest: [Uint8Array]) => {
    calls.push(`write ${nameOf(fd)}`);
    return writeSync(fd, ...rest);
  }) as typeof writeSync);
  for (const [name, sync] of Object.entries({ fdatasyncSync, fsyncSync })) {
    jest.spyOn(fs, name as 'fsyncSync').mockImplementation((fd) => {
      sync(fd);
      calls.push(`sync ${nameOf(fd)}`);
    });
  }
  return calls;
}

test('syncs the log after the last write of each commit, before the statement has its result', async () => {
  const { sql: database } = await open(await embeddedFolder());
  await sql`create table noted (number int primary key)`.execute(database);
  const calls = notedCalls();
  for (let number = 0; number < 20; number++) {
    calls.length = 0;
    await sql`insert into noted values (${number})`.execute(database);
    const log = calls.filter((call) => /^\w+ [0-9A-F]{24}$/.test(call));
    expect(log.length).toBeGreaterThan(1);
    expect(log.at(-1)).toMatch(/^sync /);
  }
});

test('syncs the folder of a new file with the next commit', async () => {
  const { sql: database } = await open(await embeddedFolder());
  const { rows } = await sql<{ folder: string }>`
    select regexp_replace(pg_relation_filepath('pg_class'), '/[^/]*$', '') as folder`.execute(database);
  const calls = notedCalls();
  await sql`create table noted (number int)`.execute(database);
  expect(calls).toContain(`sync ${basename(rows[0]?.folder ?? '')}`);
});

test('syncs all files of an existing database before it opens them', async () => {
  const folder = await embeddedFolder();
  const synced = new Set<string>();
  const { fsync } = fs;
  jest.spyOn(fs, 'fsync').mockImplementation(((fd: number, done: () => void) => {
    synced.add(fs.readlinkSync(`/proc/self/fd/${fd}`));
    fsync(fd, done);
  }) as typeof fsync);
  jest.resetModules();
  const fresh = await import('../../../../src/adapters/postgres/embedded/disk-sync.ts');
  await fresh.syncTree(join(folder, 'postgres'));
  const entries = await readdir(join(folder, 'postgres'), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(500);
  expect([...synced].sort()).toEqual(files.sort());
});

test('refuses a folder that has something else than a database, and leaves it as it is', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'postgres/base'), { recursive: true });
  await writeFile(join(folder, 'postgres/base/1'), 'kept');
  await expect(open(folder)).rejects.toThrow(
    `${join(folder, 'postgres')} is not a database, since it has no PG_VERSION`,
  );
  expect(await readFile(join(folder, 'postgres/base/1'), 'utf8')).toBe('kept');
});

/** What all open files of node:fs/promises have in common. */
async function fileHandles(folder: string) {
  const one = await fs.promises.open(folder, 'r');
  await one.close();
  return Object.getPrototypeOf(one) as { sync(this: { fd: number }): Promise<void> };
}

test('keeps the access token: its content and its name are synced before it is used', async () => {
  const folder = await temporaryFolder();
  const synced: string[] = [];
  const handle = await fileHandles(folder);
  const { sync } = handle;
  jest.spyOn(handle, 'sync').mockImplementation(async function (this: { fd: number }) {
    synced.push(fs.readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  const token = await ownToken(folder);
  expect(synced).toEqual([join(folder, 'access-token'), folder]);
  expect(await ownToken(folder)).toBe(token);
  // One that an earlier version has written, too.
  expect(synced).toHaveLength(4);
  expect(dirname(synced[2] ?? '')).toBe(folder);
});

test('keeps the access token where folders cannot be synced, as the database is kept there', async () => {
  const folder = await temporaryFolder();
  const handle = await fileHandles(folder);
  const sync = jest.spyOn(handle, 'sync').mockImplementation(async () => {
    throw Object.assign(new Error('EINVAL: invalid argument, fsync'), { code: 'EINVAL' });
  });
  const token = await ownToken(folder);
  expect(await ownToken(folder)).toBe(token);
  expect(sync).toHaveBeenCalled();
});
