import { parseArgs } from 'node:util';
import { install, realNow } from './kernel.ts';
import { type Plan, planOf } from './plan.ts';
import { type Outcome, simulate } from './simulate.ts';

/*
 * npm run test:simulation -- [--seed 1] [--seeds 1000] [--postgres] [--log] [--digest] [--brief]
 *
 * Runs the service by seeds. One that fails is run with less and less in it, and what is left is printed, unless --brief says
 * that exit code 1 is enough; the same seed does the same again.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    postgres: { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    digest: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
  },
});
const first = Number(values.seed ?? 1);
const count = Number(values.seeds ?? (values.seed === undefined ? 1_000 : 1));
install();

const begin = realNow();
const answers = new Map<string, number>();
for (let seed = first; seed < first + count && process.exitCode === undefined; seed++) {
  const plan = planOf(seed, values.postgres);
  const outcome = await simulate(plan);
  for (const [answer, times] of outcome.answers) answers.set(answer, (answers.get(answer) ?? 0) + times);
  if (values.digest) console.log(seed, outcome.digest);
  if (values.log) console.log(outcome.log.join('\n'));
  if (outcome.failures.length === 0) continue;
  process.exitCode = 1;
  if (!values.brief) await report(plan, outcome);
}
const seconds = ((realNow() - begin) / 1_000).toFixed(1);
console.log(`seeds ${first} to ${first + count - 1} on ${values.postgres ? 'Postgres' : 'SQLite'}: ${seconds} s`);
if (process.exitCode === undefined) {
  for (const [answer, times] of [...answers].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`${String(times).padStart(9)}  ${answer}`);
}

async function report(plan: Plan, { failures, digest }: Outcome): Promise<void> {
  const small = await smallest(plan);
  const { failures: left, log } = await simulate(small);
  console.log(
    `seed ${plan.seed} fails (${digest}): ${failures[0]}\n\n` +
      `With ${small.events.length} of its ${plan.events.length} events:\n${log.slice(-60).join('\n')}\n\n${left[0]}\n\n` +
      `Again: npm run test:simulation -- --seed ${plan.seed}${values.postgres ? ' --postgres' : ''} --log\n`,
  );
}

/** Leaves out as many events as it can while something fails: halves, quarters and so on, then one by one. */
async function smallest(plan: Plan): Promise<Plan> {
  let { events } = plan;
  for (let size = events.length >> 1; size > 0; ) {
    let isSmaller = false;
    for (let start = 0; start < events.length; start += size) {
      const fewer = events.toSpliced(start, size);
      if ((await simulate({ ...plan, events: fewer })).failures.length === 0) continue;
      events = fewer;
      start -= size;
      isSmaller = true;
    }
    if (size > 1 || !isSmaller) size >>= 1;
  }
  return { ...plan, events };
}
