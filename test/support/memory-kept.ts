import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { keepObjectsYoung } from '../../src/process/young-objects.ts';
import { connect, plantsIn } from './test-database.ts';

/*
 * A program: memory-kept.ts DATABASE-URL
 *
 * It writes how many bytes for each create V8 moved to its old generation, as JSON: an array with one entry for each
 * round. V8 has the service's settings, which take effect only in a process that has not run anything else yet.
 */

const ROUNDS = 4;
const CREATES = 600;

keepObjectsYoung();
setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');
const oldSpace = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;

const database = connect(String(process.argv[2]));
const plants = plantsIn(database);
let id = 0n;

async function bytesOfCreates(): Promise<number> {
  const before = oldSpace();
  for (let n = 1; n <= CREATES; n++) {
    await plants.add({ id: id++, name: 'Ginkgo biloba' });
    if (n % 25 === 0) collect({ type: 'minor' });
  }
  return (oldSpace() - before) / CREATES;
}

const rounds: number[] = [];
while (rounds.length < ROUNDS) rounds.push(await bytesOfCreates());
console.log(JSON.stringify(rounds));
await database.close();
