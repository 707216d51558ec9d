import { getHeapSpaceStatistics } from 'node:v8';
import { keepObjectsYoung } from '../../src/process/young-objects.ts';
import { connect, plantsIn } from './test-database.ts';

/*
 * A program: node --expose-gc memory-kept.ts DATABASE-URL
 *
 * It writes how many bytes for each create V8 moved to its old generation, as JSON: an array with one entry for each
 * round. As a process of its own, with the service's settings of V8: in one of Jest's workers, the creates of earlier
 * tests may have had V8 allocate such objects in the old generation from then on.
 */

const ROUNDS = 5;
const CREATES = 600;

keepObjectsYoung();
const collect = globalThis.gc;
if (collect === undefined) throw new Error('needs --expose-gc');
const oldSpace = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? Number.NaN;

const database = connect(String(process.argv[2]));
const plants = plantsIn(database);
let id = 0n;

const bytesOfCreates = async () => {
  const before = oldSpace();
  for (let n = 1; n <= CREATES; n++) {
    await plants.add({ id: id++, name: 'Ginkgo biloba' });
    if (n % 25 === 0) collect({ type: 'minor' });
  }
  return (oldSpace() - before) / CREATES;
};

// The first creates leave code and caches, or less than nothing: what has served to load the program is collected.
await bytesOfCreates();
const rounds: number[] = [];
while (rounds.length < ROUNDS) rounds.push(await bytesOfCreates());
console.log(JSON.stringify(rounds));
await database.close();
