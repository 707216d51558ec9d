import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

/*
 * Time, timers and chance that a seed decides. The code under test runs unchanged: what it takes from Node.js (timers,
 * clocks, random ids) is replaced, in a way that Node.js documents (module.syncBuiltinESMExports).
 */

export type Random = ReturnType<typeof randomOf>;

/** Numbers of a seed, which may be any text (FNV-1a, then mulberry32). */
export function randomOf(seed: string) {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 16_777_619);
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const int = (below: number) => Math.floor(next() * below);
  return {
    /** From 0 to 1. */
    next,
    int,
    chance: (probability: number) => next() < probability,
    pick: <T>(list: readonly T[]): T => list[int(list.length)] as T,
  };
}

/** A process, whose callbacks run one after another. */
export interface Process {
  readonly name: string;
  isDead: boolean;
  /** Until when none of its callbacks run. */
  frozenUntil: number;
  /** When its last turn of the event loop was scheduled. */
  lastTurn: number;
  /** Milliseconds that a look at the clock takes, at most: how slow its processor is. */
  slowness: number;
}

/** The `slowness` of a process that has a processor of its own. */
export const QUICK = 0.004;

interface Task {
  at: number;
  readonly order: number;
  readonly process: Process;
  readonly run: () => void;
  isOver: boolean;
}

const real = { setImmediate, now: performance.now.bind(performance) };
/** Node.js runs every microtask before the next immediate. */
const microtasksDone = () => new Promise<void>((resolve) => real.setImmediate(resolve));

/** In the order of time, the next one last. */
let queue: Task[] = [];
let order = 0;
let time = 0;
let random = randomOf('');
const outside: Process = { name: 'outside', isDead: false, frozenUntil: 0, lastTurn: 0, slowness: 0 };
let current = outside;
/** Of all callbacks so far: equal for equal runs. */
let digest = 0;
/** Learns what no process should do. */
let onDefect: (error: unknown) => void = () => {};

export const simulation = {
  now: () => time,
  /** Milliseconds since 1970 at the beginning, by the clock that all processes share, which jumps. */
  wallClock: 0,
  current: () => current,
  digest: () => (digest >>> 0).toString(16).padStart(8, '0'),
  process: (name: string): Process => ({ name, isDead: false, frozenUntil: 0, lastTurn: 0, slowness: QUICK }),

  begin(seed: string, defect: (error: unknown) => void): void {
    queue = [];
    order = time = digest = 0;
    random = randomOf(seed);
    simulation.wallClock = 1_800_000_000_000;
    onDefect = defect;
  },

  /** Lets a process be busy for so long, while the others go on. */
  spend(milliseconds: number): void {
    time += milliseconds;
  },

  /** Runs a callback of a process later, unless the process is killed, or `isOver` is set. */
  later(process: Process, milliseconds: number, run: () => void): Task {
    const task = { at: time + milliseconds, order: order++, process, run, isOver: false };
    push(task);
    return task;
  },

  /** Runs everything until a time, or until it is over. */
  async run(until: number, isOver = () => false): Promise<void> {
    for (let task = queue.at(-1); task !== undefined && task.at <= until && !isOver(); task = queue.at(-1)) {
      queue.pop();
      time = Math.max(time, task.at);
      const { process } = task;
      if (task.isOver || process.isDead) continue;
      if (process.frozenUntil > time) {
        task.at = process.frozenUntil;
        push(task);
        continue;
      }
      task.isOver = true;
      current = process;
      digest = Math.imul(digest ^ (time * 1_000), 16_777_619) ^ process.name.length ^ process.name.charCodeAt(0);
      try {
        task.run();
      } catch (error) {
        if (!process.isDead) onDefect(error);
      }
      await microtasksDone();
    }
    current = outside;
    time = Math.max(time, Math.min(until, queue.at(-1)?.at ?? time));
  },
};

function push(task: Task): void {
  let [low, high] = [0, queue.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { at, order } = queue[middle] as Task;
    if (task.at < at || (task.at === at && task.order < order)) low = middle + 1;
    else high = middle;
  }
  queue.splice(low, 0, task);
}

/* What Node.js has, in simulated time. */

type Callback = (...args: unknown[]) => void;

function timer(run: Callback, milliseconds = 1, ...args: unknown[]) {
  const delay = Math.max(1, Math.min(Number(milliseconds) || 1, 2 ** 31 - 1));
  const task = simulation.later(current, delay + random.next() * 0.5, () => run(...args));
  return Object.assign(task, { ref: () => task, unref: () => task, hasRef: () => true });
}

/** The next turn of the event loop. */
function turn(run: Callback, ...args: unknown[]) {
  const { slowness, lastTurn } = current;
  const at = Math.max(time + random.next() * (0.1 + 10 * slowness), lastTurn);
  current.lastTurn = at;
  return simulation.later(current, at - time, () => run(...args));
}

function interval(run: Callback, milliseconds: number) {
  const handle = { isOver: false };
  const again = () =>
    timer(() => {
      if (handle.isOver) return;
      run();
      again();
    }, milliseconds);
  again();
  return handle;
}

function cancel(task: { isOver: boolean } | undefined): void {
  if (task !== undefined) task.isOver = true;
}

function delay(milliseconds?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      cancel(task);
      reject(signal?.reason);
    };
    const task = timer(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Replaces Node.js's own for the rest of this process. What it does not replace is kept out by .dependency-cruiser.mjs. */
export function install(): void {
  const clear = { clearTimeout: cancel, clearInterval: cancel, clearImmediate: cancel };
  Object.assign(globalThis, { setTimeout: timer, setInterval: interval, setImmediate: turn, ...clear });
  performance.now = () => {
    time += random.next() * current.slowness;
    return time;
  };
  Date.now = () => Math.floor(simulation.wallClock + time);
  Math.random = () => random.next();
  Object.assign(timersPromises, {
    setTimeout: delay,
    setImmediate: (value?: unknown) => new Promise((resolve) => turn(() => resolve(value))),
  });
  const digits = () => random.int(2 ** 32).toString(16);
  Object.assign(crypto, { randomUUID: () => [digits(), digits(), digits(), digits()].join('-') });
  syncBuiltinESMExports();
  process.on('unhandledRejection', (error) => {
    if (!current.isDead) onDefect(error);
  });
}

/** Milliseconds of the time outside of the simulation. */
export const realNow = real.now;
