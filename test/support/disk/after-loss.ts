import { apiClient } from '../api-client.ts';
import { consumer, pagesOver } from '../plants/changes.ts';
import { startService } from '../service-process.ts';
import type { Loss } from './power-losses.ts';
import type { History, State, Work } from './recorded-work.ts';

/* What a service that is started after a power loss still has. */

/** The id of a plant that is created after the loss. */
const AFTERWARDS = 2 ** 50;

/** As JSON has it: its id is exact in these tests. */
interface Plant {
  readonly id: number;
  readonly name: string;
}

/**
 * Starts the service on what is left, and compares it with what had been acknowledged.
 *
 * @returns what is wrong, in words
 */
export async function problemsAfter(loss: Loss, work: Work, folder: string): Promise<string[]> {
  const { dataDir, acknowledged } = loss;
  const problems: string[] = [];
  const service = await startService(folder, { DATA_DIR: dataDir }).catch((error: Error) => error);
  if (service instanceof Error) return [`it does not start: ${service.message}`];
  try {
    const token = /Bearer (\S+)'/.exec(await service.curl())?.[1] ?? '';
    if (acknowledged.size > 0 && token !== (await work.token())) problems.push('it has another token');
    const client = apiClient(service.apiUrl, token);
    const list = await client.send('GET', '/plants');
    const plants = statesOf(JSON.parse(list.body));
    problems.push(...wrongStates(plants, work, acknowledged));
    const follower = consumer();
    const pages = pagesOver(() => client, 0);
    while (!(await follower.step(pages, 1_000))) {
      if (follower.restarts() > 0) throw new Error('a position that the feed has just given is refused');
    }
    const followed = statesOf([...follower.copy.values()].map(({ id, name }) => ({ id: Number(id), name })));
    problems.push(...wrongFeed(followed, plants));
    const created = await client.send('POST', '/plants', { body: `{"id":${AFTERWARDS},"name":"afterwards"}` });
    if (created.status !== 200) problems.push(`it creates nothing: ${created.body}`);
  } catch (error) {
    problems.push(`${error}`);
  } finally {
    service.kill('SIGKILL');
    await service.exited;
  }
  return problems;
}

const statesOf = (plants: readonly Plant[]) => new Map<number, State>(plants.map(({ id, name }) => [id, name]));

/** The feed leads to each plant as it is stored, and to no other. */
function wrongFeed(followed: ReadonlyMap<number, State>, plants: ReadonlyMap<number, State>): string[] {
  const ids = new Set([...followed.keys(), ...plants.keys()]);
  const wrong = [...ids].filter((id) => followed.get(id) !== plants.get(id));
  return wrong.map((id) => `plant ${id} in the feed is not as stored`);
}

export function wrongStates(
  plants: ReadonlyMap<number, State>,
  { histories }: Pick<Work, 'histories'>,
  acknowledged: ReadonlySet<string>,
): string[] {
  const wrong = [...histories].filter(
    ([id, history]) => !allowed(history, acknowledged).has(plants.get(id) ?? 'absent'),
  );
  const unknown = [...plants.keys()].filter((id) => !histories.has(id));
  return [
    ...wrong.map(([id]) => `plant ${id} is ${plants.get(id)?.slice(0, 30) ?? 'absent'}`),
    ...unknown.map((id) => `nobody created plant ${id}`),
  ];
}

/** What was acknowledged last, or what was being done then. */
function allowed(history: readonly History[], acknowledged: ReadonlySet<string>): Set<State> {
  const done = history.findLastIndex(({ operation }) => acknowledged.has(operation));
  return new Set([history[done]?.after ?? 'absent', history[done + 1]?.after ?? history[done]?.after ?? 'absent']);
}
