import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { attacks } from './attacks.ts';

/* One attack at its full size, in a thread of its own, so that it does not slow the ordinary clients down itself. */

const { name, url, token, seconds } = workerData;
const attack = attacks.find((one) => one.name === name);
if (attack === undefined) throw new Error(`there is no attack ${name}`);
const { turn, attackers, turnsPerSecond } = attack;

const over = new AbortController();
// Node warns of more listeners than ten as if they were forgotten.
process.setMaxListeners(0);
const outcomes = new Map<string, number>();
let attacking = 0;
// The ordinary clients' time starts when this thread has.
parentPort?.postMessage('ready');
const start = performance.now();

async function takeTurn(): Promise<void> {
  attacking++;
  const outcome = await turn({ url, token, signal: over.signal });
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  attacking--;
}

const turns: Promise<void>[] = [];
for (let now = start; now < start + seconds * 1000; now = performance.now()) {
  const due = ((now - start) / 1000) * turnsPerSecond;
  while (turns.length < due && attacking < attackers) turns.push(takeTurn());
  await sleep(5);
}
over.abort();
await Promise.all(turns);
parentPort?.postMessage(outcomes);
