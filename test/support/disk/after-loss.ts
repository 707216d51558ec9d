import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { get, post } from '../api-server.ts';
import { projectFile, startNode, startService } from '../service-process.ts';
import type { Loss } from './power-losses.ts';
import type { History, State, Work } from './recorded-work.ts';

/* What a service that is started after a power loss still has. */

interface Change {
  readonly id: number;
  readonly name?: string;
  readonly deleted?: true;
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
    const read = async (path: string) => {
      const response = await get(service.apiUrl, path, { Authorization: `Bearer ${token}` });
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${text}`);
      return JSON.parse(text);
    };
    const plants = new Map<number, State>((await read('/plants')).map(({ id, name }: Change) => [id, name ?? '']));
    problems.push(...wrongStates(plants, work, acknowledged, 'the list'));
    problems.push(...wrongFeed(await wholeFeed(read), plants));
    const plant = JSON.stringify({ id: 2 ** 50, name: 'afterwards' });
    const created = await post(service.apiUrl, plant, { Authorization: `Bearer ${token}` });
    if (!created.ok) problems.push(`it creates nothing: ${await created.text()}`);
  } catch (error) {
    problems.push(`${error}`);
  } finally {
    service.kill('SIGKILL');
    await service.exited;
  }
  if (problems.length === 0 && loss.isExported) problems.push(...(await exportProblems(loss, work, folder)));
  return problems;
}

interface Page {
  readonly changes: Change[];
  readonly next: string;
  readonly atEnd: boolean;
}

async function wholeFeed(read: (path: string) => Promise<Page>): Promise<Change[]> {
  const all: Change[] = [];
  for (let after = ''; ; ) {
    const { changes, next, atEnd } = await read(`/changes?limit=1000${after}`);
    all.push(...changes);
    if (atEnd) return all;
    after = `&after=${encodeURIComponent(next)}`;
  }
}

/** The feed has each plant once, as it is stored. */
function wrongFeed(feed: readonly Change[], plants: ReadonlyMap<number, State>): string[] {
  const alive = new Map(feed.flatMap(({ id, name, deleted }) => (deleted ? [] : [[id, name ?? ''] as const])));
  const wrong = [...plants].filter(([id, name]) => alive.get(id) !== name).map(([id]) => `plant ${id} in the feed`);
  const more = feed.filter(({ id, deleted }) => plants.has(id) === (deleted ?? false));
  return [...wrong, ...more.map(({ id }) => `${id} in the feed is not as stored`)];
}

/** An export after the loss has what the list had, and the plant that was created then. */
async function exportProblems({ dataDir, acknowledged }: Loss, work: Work, folder: string): Promise<string[]> {
  const file = join(folder, 'exported.ndjson');
  const args = [projectFile('src/export.ts'), file, '--force'];
  const { code, stderr } = await startNode(args, folder, { DATA_DIR: dataDir }).outcome();
  if (code !== 0) return [`the export fails: ${stderr}`];
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const plants = new Map<number, State>(
    lines.map((line) => JSON.parse(line)).map(({ id, name }: Change) => [id, name ?? '']),
  );
  if (!plants.delete(2 ** 50)) return ['the export lacks what was created after the loss'];
  return wrongStates(plants, work, acknowledged, 'the export');
}

function wrongStates(
  plants: ReadonlyMap<number, State>,
  { histories }: Work,
  acknowledged: ReadonlySet<string>,
  where: string,
): string[] {
  const wrong = [...histories].filter(
    ([id, history]) => !allowed(history, acknowledged).has(plants.get(id) ?? 'absent'),
  );
  const unknown = [...plants.keys()].filter((id) => !histories.has(id));
  return [
    ...wrong.map(([id]) => `plant ${id} in ${where} is ${plants.get(id)?.slice(0, 30) ?? 'absent'}`),
    ...unknown.map((id) => `nobody created plant ${id} in ${where}`),
  ];
}

/** What was acknowledged last, or what was being done then. */
function allowed(history: readonly History[], acknowledged: ReadonlySet<string>): Set<State> {
  const done = history.findLastIndex(({ operation }) => acknowledged.has(operation));
  return new Set([history[done]?.after ?? 'absent', history[done + 1]?.after ?? history[done]?.after ?? 'absent']);
}
