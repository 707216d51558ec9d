import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUTANTS } from './mutants.ts';

/*
 * npm run test:mutants [-- PART_OF_A_PATH]
 *
 * Whether the simulation finds each mutant of src. Exit code 1 if one lives.
 */

const SEEDS = 400;

/** Milliseconds after which a mutant is killed, too, since it has hung the simulation. */
const TIMEOUT = 300_000;

const project = join(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
for (const name of ['src', 'test/simulation', 'test/support/linearizability.ts', 'package.json'])
  cpSync(join(project, name), join(copy, name), { recursive: true });
symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));

function isFound(...options: readonly string[]): boolean {
  const args = [join(copy, 'test/simulation/main.ts'), '--brief', '--seeds', `${SEEDS}`, ...options];
  return spawnSync(process.execPath, args, { timeout: TIMEOUT }).status !== 0;
}

const [onSqlite, onPostgres] = [() => isFound(), () => isFound('--postgres')];
if (onSqlite() || onPostgres()) throw new Error('the simulation fails without a mutant: npm run test:simulation');
for (const [file, mutants] of Object.entries(MUTANTS)) {
  if (!file.includes(process.argv[2] ?? '')) continue;
  const path = join(copy, 'src', file);
  const source = readFileSync(path, 'utf8');
  for (const [breaks, from, to] of mutants) {
    const parts = source.split(from);
    if (parts.length !== 2)
      throw new Error(`src/${file} does not have "${from}" once: repair the mutant of "${breaks}"`);
    writeFileSync(path, parts.join(to));
    const isKilled = (!file.includes('postgres') && onSqlite()) || (!file.includes('sqlite') && onPostgres());
    console.log(`${isKilled ? 'killed' : 'LIVES '}  ${breaks}`);
    if (!isKilled) process.exitCode = 1;
  }
  writeFileSync(path, source);
}
rmSync(copy, { recursive: true });
