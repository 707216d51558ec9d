/*
 * Whether what clients have seen of each id can be what one client had seen that did the same one after another
 * (linearizability; the method is Lowe's just-in-time linearization, with reads as early as they can be).
 */

/** What is stored under an id: `absent`, `deleted`, or the content of a plant. */
export type State = string;

export const isPlant = (state: State) => state !== 'absent' && state !== 'deleted';

/** The state after a step; undefined if it cannot have happened in the state before. */
export type Effect = (before: State) => State | undefined;

/** When something has ended; Infinity as long as it may still happen. */
interface End {
  readonly at: number;
}

/** What happened between two moments. */
interface Step {
  readonly from: number;
  readonly end: End;
  readonly text: string;
  readonly apply: Effect;
  readonly isRead: boolean;
  /** Whether nobody knows if it has happened; it does not happen after its end. */
  readonly isOpen: boolean;
}

export function newHistory() {
  const steps = new Map<bigint, Step[]>();
  let clock = 0;
  function add(id: bigint, step: Step): void {
    const known = steps.get(id);
    if (known === undefined) steps.set(id, [step]);
    else known.push(step);
  }
  return {
    tick: () => clock++,
    ids: () => [...steps.keys()],
    wrote: (id: bigint, from: number, to: number, text: string, apply: Effect) =>
      add(id, { from, end: { at: to }, text, apply, isRead: false, isOpen: false }),
    /** @param end when it cannot happen any more, which may be found out later */
    mayHaveWritten: (id: bigint, from: number, end: End, text: string, apply: Effect) =>
      add(id, { from, end, text: `${text}?`, apply, isRead: false, isOpen: true }),
    read(id: bigint, from: number, to: number, text: string, is: (state: State) => boolean) {
      const apply: Effect = (before) => (is(before) ? before : undefined);
      add(id, { from, end: { at: to }, text, apply, isRead: true, isOpen: false });
    },
    /** Why it cannot be; a text for each id. */
    contradictions: (): string[] =>
      [...steps].flatMap(([id, all]) => {
        const wrong = firstWrong(all);
        return wrong === undefined ? [] : [`what clients saw of id ${id} has no order:\n${wrong}`];
      }),
  };
}

/** Which of the steps without a response have happened already: bits, by the place of each. */
interface Configuration {
  readonly state: State;
  readonly ahead: number;
}

/** Steps without a response at a time, at most, of an id; beyond, nothing is said of it. */
const PLACES = 31;

/** @returns the first response that is wrong in every order, after those before it; undefined if there is none */
function firstWrong(steps: readonly Step[]): string | undefined {
  const events = steps
    .flatMap((step) => [
      { at: step.from, step, isResponse: false },
      { at: step.end.at, step, isResponse: true },
    ])
    .filter(({ at }) => at < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.at - b.at || Number(a.isResponse) - Number(b.isResponse));
  const open: (Step | undefined)[] = Array(PLACES).fill(undefined);
  const log: string[] = [];
  let possible: Configuration[] = [{ state: 'absent', ahead: 0 }];
  for (const { step, isResponse } of events) {
    const place = open.indexOf(isResponse ? step : undefined);
    if (!isResponse) {
      if (place < 0) return undefined;
      open[place] = step;
      if (step.end.at === Number.POSITIVE_INFINITY) log.push(`    ${step.from}-  ${step.text}`);
      continue;
    }
    const before = [...new Set(possible.map(({ state }) => state))].join(' or ');
    const bit = 1 << place;
    const happened = afterResponse(possible, open, bit);
    // What has not happened by then, never will.
    possible = step.isOpen ? [...possible.filter(({ ahead }) => (ahead & bit) === 0), ...happened] : happened;
    open[place] = undefined;
    log.push(`    ${step.from}-${step.end.at}  ${step.text}`);
    if (possible.length === 0) return `${log.slice(-12).join('\n')}\n    ^ wrong after ${before}`;
  }
  return undefined;
}

/** All that may be once this step has happened. */
function afterResponse(
  possible: readonly Configuration[],
  open: readonly (Step | undefined)[],
  bit: number,
): Configuration[] {
  const all = open.flatMap((step, place) => (step === undefined ? [] : [{ ...step, bit: 1 << place }]));
  const [reads, writes] = [all.filter(({ isRead }) => isRead), all.filter(({ isRead }) => !isRead)];
  const endless = writes.reduce((bits, { isOpen, bit }) => (isOpen ? bits | bit : bits), 0);
  const seen = new Map<string, number[]>();
  const result: Configuration[] = [];
  let toDo: readonly Configuration[] = possible;
  // By the number of steps: what has used fewer of those that need not happen is never worse.
  while (toDo.length > 0) {
    const next: Configuration[] = [];
    for (const { state, ahead: before } of toDo) {
      // A read that can be now changes nothing, so that later is no better.
      const ahead = reads.reduce((bits, { apply, bit }) => (apply(state) === undefined ? bits : bits | bit), before);
      const key = `${ahead & ~endless} ${state}`;
      const known = seen.get(key);
      if (known?.some((used) => (used & ~ahead) === 0)) continue;
      if (known === undefined) seen.set(key, [ahead & endless]);
      else known.push(ahead & endless);
      if ((ahead & bit) !== 0) {
        result.push({ state, ahead: ahead & ~bit });
        continue;
      }
      for (const write of writes) {
        const after = (ahead & write.bit) === 0 ? write.apply(state) : undefined;
        if (after !== undefined) next.push({ state: after, ahead: ahead | write.bit });
      }
    }
    toDo = next;
  }
  return result;
}
