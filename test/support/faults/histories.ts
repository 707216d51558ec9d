/* Whether what clients have seen of one plant can have happened one after another. */

/** The content of a plant, as a text; `absent` if there never was one. */
export type State = 'absent' | 'deleted' | `plant ${string}`;

/** What a client has asked for and got, from a moment to a moment of one clock. */
export interface Step {
  readonly from: number;
  /** Infinity if it may still happen, at any later time or never. */
  readonly to: number;
  /** What it is, for messages. */
  readonly text: string;
  /** The state after it; undefined if this response is wrong in the state before. */
  readonly apply: (before: State) => State | undefined;
}

interface Configuration {
  readonly state: State;
  /** Steps that have happened, but had no response yet at the moment that is looked at. */
  readonly ahead: ReadonlySet<Step>;
}

/**
 * Searches for an order of the steps in which each happens between its request and its response and every response is
 * right (linearizability; the method is Lowe's just-in-time linearization).
 *
 * @returns the first response that is wrong in every order, after those before it; undefined if there is none
 */
export function firstWrong(steps: readonly Step[]): string | undefined {
  const events = steps
    .flatMap((step) => [
      { at: step.from, step, isResponse: false },
      { at: step.to, step, isResponse: true },
    ])
    .filter(({ at }) => at < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.at - b.at);
  const open = new Set<Step>();
  const log: string[] = [];
  let possible: Configuration[] = [{ state: 'absent', ahead: new Set() }];
  for (const { step, isResponse } of events) {
    if (!isResponse) {
      open.add(step);
      continue;
    }
    const before = possible.map(({ state }) => state);
    possible = afterResponse(possible, open, step);
    open.delete(step);
    log.push(`${step.from}-${step.to} ${step.text}`);
    if (possible.length === 0)
      return `${log.slice(-15).join('\n')}\n  wrong after ${[...new Set(before)].join(' or ')}`;
  }
  return undefined;
}

/** All that may be once this step has happened. */
function afterResponse(possible: readonly Configuration[], open: ReadonlySet<Step>, step: Step): Configuration[] {
  const numbers = new Map([...open].map((each, n) => [each, n]));
  const keyOf = ({ state, ahead }: Configuration) => `${[...ahead].map((each) => numbers.get(each)).sort()} ${state}`;
  const seen = new Set<string>();
  const result = new Map<string, Configuration>();
  const toDo = [...possible];
  for (let one = toDo.pop(); one !== undefined; one = toDo.pop()) {
    const key = keyOf(one);
    if (seen.has(key)) continue;
    seen.add(key);
    if (one.ahead.has(step)) {
      const ahead = new Set(one.ahead);
      ahead.delete(step);
      const done = { state: one.state, ahead };
      result.set(keyOf(done), done);
      continue;
    }
    for (const next of open) {
      if (one.ahead.has(next)) continue;
      const state = next.apply(one.state);
      if (state !== undefined) toDo.push({ state, ahead: new Set([...one.ahead, next]) });
    }
  }
  return [...result.values()];
}
