import type { BatchOptions } from '../../src/adapters/sql/batch.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../src/domain/plant.ts';
import { DISK_FAULTS, type DiskFault } from './disk.ts';
import { QUICK, type Random, randomOf } from './kernel.ts';

/* What happens in a run, decided by its seed beforehand, so that a part of it can be left out and the rest stays. */

/** As ids are stored exactly, also where JSON's numbers are not. */
export const IDS = [MIN_INT64, -1n, 0n, 1n, 2n ** 53n + 1n, MAX_INT64];

export type Operation =
  | { readonly op: 'create'; readonly plant: NewPlant }
  /** @param expected how many states ago the client has seen the one that it names as a condition; undefined without one */
  | { readonly op: 'change'; readonly plant: NewPlant; readonly expected: number | undefined }
  | { readonly op: 'delete'; readonly id: bigint; readonly expected: number | undefined }
  | { readonly op: 'find'; readonly id: bigint }
  | { readonly op: 'import'; readonly list: readonly NewPlant[]; readonly replaces: boolean }
  | { readonly op: 'list'; readonly after: bigint | undefined; readonly limit: number; readonly order: 'asc' | 'desc' };

/** Where a request goes, and what becomes of it on the way. */
export interface Route {
  readonly service: number;
  /** Milliseconds that the request takes, and the response. */
  readonly latency: number;
  readonly lost: 'request' | 'response' | undefined;
}

/** @param pause milliseconds after the client's request before */
type Request = { readonly client: number; readonly pause: number } & Route & Operation;

export type Trouble = '500' | 'silence' | 'lost responses' | 'gone';

export type Fault =
  | { readonly fault: 'disk'; readonly what: DiskFault; readonly milliseconds: number }
  /** A restore brings back, so much later, what is there now. */
  | { readonly fault: 'kill' | 'stop' | 'freeze' | 'slow' | 'restore'; readonly milliseconds: number }
  | { readonly fault: 'clock'; readonly jump: number }
  | { readonly fault: 'receiver'; readonly endpoint: number; readonly trouble: Trouble; readonly milliseconds: number }
  | { readonly fault: 'purge'; readonly minAge: number }
  | { readonly fault: 'rewind' | 'resume'; readonly endpoint: number };

type Event = Request | ({ readonly at: number; readonly service: number } & Fault);

type StatementFault = 'refused' | 'cutBefore' | 'cutAfter' | 'cutDuring' | 'late' | 'timeout' | 'refusedRow';

/** How often each happens to a statement, and what is as it is for the whole run. */
export type PostgresFaults = Readonly<Record<StatementFault | 'latency' | 'connections', number>>;

export interface Plan {
  readonly seed: number;
  /** Those of the model of Postgres; undefined on SQLite. */
  readonly postgres: PostgresFaults | undefined;
  readonly services: number;
  /** How slow they are without a fault. */
  readonly slowness: number;
  readonly endpoints: number;
  readonly followers: number;
  /** Milliseconds from one moment at which clients send their requests to the next; 0 if each has pauses of its own. */
  readonly beat: number;
  readonly timeout: number;
  /** On Postgres. */
  readonly batching: Omit<BatchOptions, 'timeout'>;
  readonly events: readonly Event[];
}

const OPERATIONS = ['create', 'change', 'delete', 'find', 'import', 'list'] as const;
const FAULTS = ['disk', 'kill', 'stop', 'freeze', 'slow', 'clock', 'receiver', 'purge', 'rewind', 'restore'] as const;

export function planOf(seed: number, isOnPostgres: boolean): Plan {
  const random = randomOf(`plan ${seed}`);
  const { int, pick, chance } = random;
  // Of a run as a whole: few kinds of faults, or one alone, reach states that all together hide.
  const clients = 1 + int(6);
  const requests = 10 + int(60);
  const kinds = FAULTS.filter(() => chance(0.4));
  const pause = kinds.includes('freeze') && chance(0.5) ? 2_000 : pick([2, 20, 200, 2_000]);
  const latencies = pick([[0.1], [1, 5], [1, 5, 50, 500]]);
  const lossy = pick([0, 0, 0.05, 0.2]);
  const ids = IDS.slice(0, 1 + int(IDS.length));
  const operations = [...OPERATIONS.flatMap((op) => Array<typeof op>(int(4)).fill(op)), 'create' as const];
  // All clients at the newest id, or each at any.
  const isHot = chance(0.5);
  let hotId = MIN_INT64;
  const id = () => {
    if (!isHot || chance(0.2)) hotId = pick(ids);
    return hotId;
  };
  const plant = (n: number): NewPlant => {
    const name = pick(['', 'a', 'b', 'a', `${n}`, `${n} \u{1F33F}`]);
    const tag = pick([undefined, undefined, 't', '']);
    return { id: id(), name, ...(tag !== undefined && { tag }) };
  };
  const services = pick([1, 1, 2]);

  const sent: Operation[] = [];
  const events: Event[] = Array.from({ length: requests }, (_, n) => {
    const operation = sent.length > 0 && chance(0.15) ? pick(sent) : draw(pick(operations), n);
    sent.push(operation);
    const latency = random.next() * pick(latencies);
    const lost = chance(lossy) ? pick(['request', 'response'] as const) : undefined;
    return { client: int(clients), pause: random.next() * pause, service: int(services), latency, lost, ...operation };
  });

  function draw(op: Operation['op'], n: number): Operation {
    const expected = chance(0.5) ? int(3) : undefined;
    if (op === 'create') return { op, plant: plant(n) };
    if (op === 'change') return { op, plant: plant(n), expected };
    if (op === 'import') return { op, list: Array.from({ length: 1 + int(4) }, () => plant(n)), replaces: chance(0.5) };
    if (op === 'find') return { op, id: id() };
    if (op === 'delete') return { op, id: id(), expected };
    return { op, after: chance(0.5) ? pick(ids) : undefined, limit: 1 + int(4), order: pick(['asc', 'desc']) };
  }

  const length = (requests / clients) * (pause / 2 + 30);
  const faults = kinds.length === 0 ? 0 : int(12);
  for (let n = 0; n < faults; n++) {
    events.push({ at: random.next() * length, service: int(services), ...drawFault(pick(kinds), random, length) });
  }
  const rate = () => pick([0, 0, 0.02, 0.1]);
  const rates = { refused: rate(), cutBefore: rate(), cutAfter: rate(), cutDuring: rate(), late: rate() };
  const postgres = {
    ...rates,
    timeout: rate(),
    refusedRow: rate(),
    latency: pick([1, 5, 30]),
    connections: pick([1, 4, 10]),
  };
  return {
    seed,
    postgres: isOnPostgres ? postgres : undefined,
    services,
    slowness: pick([QUICK, QUICK, 0.2]),
    endpoints: isOnPostgres ? 0 : pick([0, 1, 1, 2]),
    followers: pick([0, 1, 2]),
    beat: pick([0, 0, 100]),
    timeout: pick([300, 2_000]),
    batching: pick([
      { maxSize: 64, maxRunning: 8 },
      { maxSize: 4, maxRunning: 2 },
    ]),
    events,
  };
}

/** Some last longer than a lease. */
function drawFault(fault: (typeof FAULTS)[number], { pick, int, next }: Random, length: number): Fault {
  const milliseconds = next() * pick([100, length, 5_000, 60_000]);
  if (fault === 'disk') return { fault, what: pick(DISK_FAULTS), milliseconds };
  if (fault === 'freeze') return { fault, milliseconds: pick([next() * 5_000, 38_000 + next() * 20_000]) };
  if (fault === 'clock')
    return { fault, jump: Math.floor((next() - 0.5) * pick([2_000, 120_000, 10 * 24 * 3_600_000])) };
  if (fault === 'receiver') {
    return { fault, endpoint: int(2), trouble: pick(['500', 'silence', 'lost responses', 'gone']), milliseconds };
  }
  if (fault === 'purge') return { fault, minAge: pick([0, 0, 1]) };
  if (fault === 'rewind') return { fault: pick(['rewind', 'resume']), endpoint: int(2) };
  return { fault, milliseconds };
}
