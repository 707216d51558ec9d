import { mkdir, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { exchange } from '../api-client.ts';
import { TOKEN } from '../api-server.ts';
import { AN_HOUR_LATER, projectFile, type Service, startNode, startService } from '../service-process.ts';
import { CALLS, type Entry, straceEntries } from './strace-entries.ts';

/*
 * A service on SQLite that works while strace records what its process writes, truncates, renames, removes and syncs, below
 * Node.js.
 */

/** A plant's name, or that it is deleted. */
export type State = string | 'absent';

/** What happened to one plant, in order. The entry of a response has the name of its operation. */
export interface History {
  readonly operation: string;
  readonly after: State;
}

const CLIENTS = 16;
/** For each client in a round; one in eight has a long name at first, so that the WAL wraps. */
const PLANTS = 24;
const LONG_NAME = '🌱'.repeat(980);
const IMPORTED = 3_000;

/**
 * In each round but the first, a sync of a commit or a checkpoint fails; rounds end in order, or by SIGKILL. After every other
 * one a program begins to read what the kernel has in the WAL, and keeps that there until the next one's clients are done.
 */
export async function tracedWork(folder: string, rounds: number) {
  const root = join(folder, 'recorded');
  const dataDir = join(root, 'new/data');
  const marks = join(folder, 'marks');
  await mkdir(root);
  await writeFile(marks, '');
  const entries: Entry[] = [];
  const existing = new Set<string>();
  const isRecorded = (path: string) => `${path}/`.startsWith(`${root}/`) && !path.endsWith('-shm');
  async function record(trace: string): Promise<void> {
    for await (const entry of straceEntries(trace, isRecorded, marks, existing)) entries.push(entry);
  }

  const histories = new Map<number, History[]>();
  /** The last change of the feed that a follower had seen, by the operation that showed it. */
  const cursors = new Map<string, string>();
  let lastId = 0;
  const add = (id: number, operation: string, after: State) => {
    histories.set(id, [...(histories.get(id) ?? []), { operation, after }]);
  };

  async function client(service: Service): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < PLANTS; n++) {
      const id = ++lastId;
      const isLong = n % 8 === 0;
      for (const [method, after] of [
        ['POST', `plant ${id} ${isLong ? LONG_NAME : ''}`],
        ...(isLong || n % 3 === 0 ? [['PUT', `changed ${id}`] as const] : []),
        ...(n % 4 === 1 ? [['DELETE', 'absent'] as const] : []),
      ] as const) {
        const operation = `${method} ${id}`;
        add(id, operation, after);
        const path = method === 'POST' ? '/plants' : `/plants/${id}`;
        const body = method === 'DELETE' ? undefined : JSON.stringify({ id, name: after });
        const headers = { 'X-Operation': operation };
        const { status } = await exchange(service.apiUrl + path, { method, agent, headers }, body);
        // Of unknown outcome, or not done: nobody goes on with this plant.
        if (status >= 300) break;
      }
      if (n % 6 > 0) continue;
      const headers = { 'X-Operation': `cursor ${id}` };
      const { body } = await exchange(`${service.apiUrl}/changes?after=now`, { method: 'GET', agent, headers });
      cursors.set(`cursor ${id}`, (JSON.parse(body) as { next: string }).next);
    }
    agent.destroy();
  }

  let reader: DatabaseSync | undefined;
  for (let round = 0; round < rounds; round++) {
    const trace = join(folder, `trace-${round}`);
    const tracing = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-y', '-xx', '-s', '65536', '-e', `trace=${CALLS}`];
    const failing = round === 0 ? [] : ['-e', `inject=fsync:error=EIO:when=${20 + 11 * round}`];
    const service = await startService(
      folder,
      {
        DATA_DIR: dataDir,
        ACCESS_TOKENS: TOKEN,
        NODE_OPTIONS: `--import=${new URL('response-marks.ts', import.meta.url).href}`,
        MARK_TO: marks,
      },
      { wrapper: [...tracing, ...failing, '-o', trace] },
    );
    await Promise.allSettled(Array.from({ length: CLIENTS }, () => client(service)));
    reader?.close();
    const operation = `import ${round}`;
    const plants = Array.from({ length: IMPORTED }, () => ({ id: ++lastId, name: `imported ${lastId}` }));
    for (const { id, name } of plants) add(id, operation, name);
    const list = plants.map((plant) => `${JSON.stringify(plant)}\n`).join('');
    const headers = { 'Content-Type': 'application/x-ndjson', 'X-Operation': operation };
    // The service may have ended.
    await exchange(`${service.apiUrl}/import`, { method: 'POST', agent: new Agent(), headers }, list).catch(() => {});
    service.kill(round % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
    await service.exited;
    await record(trace);

    // A purge would do to the WAL what the next start is to do.
    reader = round % 2 === 1 && round < rounds - 1 ? openReader(join(dataDir, 'plants.db')) : undefined;
    if (reader !== undefined) continue;
    const args = [projectFile('src/purge.ts'), '--deleted-before', '0s', '--yes'];
    const wrapper = [...tracing, '-o', `${trace}-purge`];
    const purge = await startNode(args, folder, { DATA_DIR: dataDir, ...AN_HOUR_LATER }, { wrapper }).outcome();
    if (purge.code !== 0) throw new Error(purge.stderr);
    await record(`${trace}-purge`);
  }
  return { entries, root, dataDir, histories, cursors };
}

/** What it reads it keeps from changing, until it is closed, which writes nothing. */
function openReader(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { readOnly: true, timeout: 20_000 });
  reader.exec('begin; select count(*) from plants');
  return reader;
}

export type TracedWork = Awaited<ReturnType<typeof tracedWork>>;

export function wrongStates(
  plants: ReadonlyMap<number, State>,
  { histories }: Pick<TracedWork, 'histories'>,
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
