import type { UseCases } from '../../src/application/use-cases.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../src/domain/plant.ts';
import { type Effect, isPlant, type State } from '../support/linearizability.ts';
import { IDS, type Operation, type Plan } from './plan.ts';
import { stateOf } from './run.ts';

/* What an answer says of each id that it is about. */

type Listed = Awaited<ReturnType<UseCases['listPlants']>>;
type Imported = Awaited<ReturnType<UseCases['importPlants']>>;
type Of<Op> = Extract<Operation, { readonly op: Op }>;

interface Answer {
  readonly code: string;
  readonly value: unknown;
  /** The plant that the request names as its condition. */
  readonly expected: State | undefined;
  /** Whether it may be done or not, now or later. */
  readonly isOpen: boolean;
}

interface Steps {
  readonly read: (id: bigint, is: (state: State) => boolean) => void;
  readonly wrote: (id: bigint, effect: Effect) => void;
}

interface Judge {
  readonly plan: Pick<Plan, 'postgres'>;
  readonly fail: (text: string) => void;
}

/** @returns plants that the client has seen */
export function judgeAnswer(sent: Operation, answer: Answer, run: Judge, steps: Steps): readonly NewPlant[] {
  const { read, wrote } = steps;
  const { code, value, expected, isOpen } = answer;
  if (sent.op === 'list') {
    if (code === 'ok') judgeList(sent, value as Listed, run, read);
    return [];
  }
  if (sent.op === 'import') {
    judgeImport(sent, isOpen ? undefined : (value as Imported), run, steps);
    return [];
  }
  const id = 'plant' in sent ? sent.plant.id : sent.id;
  const content = 'plant' in sent ? stateOf(sent.plant) : '';
  const isMet = (state: State) => expected === undefined || state === expected;
  if (code === 'plant_not_found') read(id, (state) => state === 'absent');
  else if (code === 'plant_deleted' || code === 'id_retired') read(id, (state) => state === 'deleted');
  else if (code === 'id_taken') read(id, (state) => isPlant(state) && state !== content);
  else if (code === 'precondition_failed') read(id, (state) => isPlant(state) && !isMet(state) && state !== content);
  else if (code !== 'ok' && !isOpen) run.fail(`${sent.op} ${id} -> ${code}`);
  else if (sent.op === 'find') {
    if (isOpen) return [];
    read(id, (state) => state === stateOf(value as NewPlant));
    return [value as NewPlant];
  } else if (sent.op === 'create')
    wrote(id, (before) => (before === 'absent' || before === content ? content : undefined));
  else if (sent.op === 'change')
    wrote(id, (before) => (isPlant(before) && (isMet(before) || before === content) ? content : undefined));
  else wrote(id, (before) => (before === 'deleted' || (isPlant(before) && isMet(before)) ? 'deleted' : undefined));
  return code === 'ok' && 'plant' in sent ? [sent.plant] : [];
}

function judgeImport(
  { list, replaces }: Of<'import'>,
  imported: Imported | undefined,
  { plan, fail }: Judge,
  { read, wrote }: Steps,
): void {
  for (const [n, plant] of list.entries()) {
    const content = stateOf(plant);
    const isOther = (state: State) => isPlant(state) && state !== content;
    const outcome = imported?.outcomes[n];
    const isSame = ({ id }: NewPlant) => id === plant.id;
    // Of several that replace, only the last is written: nobody sees the others.
    if (replaces && list.slice(n + 1).some(isSame)) continue;
    if (replaces && imported && list.slice(0, n).some(isSame) && outcome !== 'id_retired')
      wrote(plant.id, (before) => (before === 'absent' || isPlant(before) ? content : undefined));
    else if (imported === undefined)
      wrote(plant.id, (before) => (before === 'absent' || (replaces && isOther(before)) ? content : undefined));
    else if (outcome === 'created') wrote(plant.id, (before) => (before === 'absent' ? content : undefined));
    else if (outcome === 'changed') wrote(plant.id, (before) => (replaces && isOther(before) ? content : undefined));
    else if (outcome === 'unchanged' && plan.postgres === undefined) read(plant.id, (state) => state === content);
    // Perhaps the import itself has created it, in an earlier attempt whose outcome was not known.
    else if (outcome === 'unchanged')
      wrote(plant.id, (before) => (before === 'absent' || before === content ? content : undefined));
    else if (outcome === 'id_taken') read(plant.id, isOther);
    else if (outcome === 'id_retired') read(plant.id, (state) => state === 'deleted');
    else fail(`import ${plant.id} -> ${outcome}`);
  }
}

function judgeList(
  { after, limit, order }: Of<'list'>,
  { first, next }: Listed,
  { fail }: Judge,
  read: Steps['read'],
): void {
  const listed = new Map(first.map((plant) => [plant.id, stateOf(plant)]));
  const ids = first.map(({ id }) => id);
  const inOrder = [...ids].sort((a, b) => (a < b === (order === 'asc') ? -1 : 1));
  if (first.length > limit || listed.size < first.length || ids.join() !== inOrder.join())
    fail(`the list ${ids}, at most ${limit}`);
  const [start, end] =
    order === 'asc' ? [after ?? MIN_INT64 - 1n, next ?? MAX_INT64] : [next ?? MIN_INT64, after ?? MAX_INT64 + 1n];
  const covers = (id: bigint) => (order === 'asc' ? id > start && id <= end : id >= start && id < end);
  for (const id of ids) if (!covers(id) || !IDS.includes(id)) fail(`the list after ${after} has ${id}`);
  for (const id of IDS.filter(covers)) {
    const state = listed.get(id);
    read(id, (one) => (state === undefined ? !isPlant(one) : one === state));
  }
}
