import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { exchange } from '../api-client.ts';
import { projectFile, type Service, startNode, startService } from '../service-process.ts';

/* A service on a new embedded database that is recorded while it works, and what it has to keep. */

/** A plant's name, or that it is deleted. */
export type State = string | 'absent';

/** What happened to one plant, in order. A response in the journal has the name of its operation. */
export interface History {
  readonly operation: string;
  readonly after: State;
}

export interface Work {
  readonly journal: string;
  /** The recorded folder, and that of the database in it. */
  readonly root: string;
  readonly dataDir: string;
  readonly histories: ReadonlyMap<number, readonly History[]>;
  token(): Promise<string>;
}

const CLIENTS = 16;
/** For each client in a round; one in eight has a long name at first, so that the log is used again. */
const PLANTS = 24;
const LONG_NAME = 400_000;
const IMPORTED = 3_000;

/** Each round: the service starts, clients create, change and delete, plants are imported, it stops; then others are purged. */
export async function recordedWork(
  folder: string,
  rounds: number,
  environment: Record<string, string> = {},
): Promise<Work> {
  const journal = join(folder, 'journal');
  const root = join(folder, 'recorded');
  await writeFile(journal, '');
  await mkdir(root);
  const dataDir = join(root, 'new/data');
  const histories = new Map<number, History[]>();
  const recorder = `--import=${new URL('disk-recorder.ts', import.meta.url).href}`;
  const recorded = { NODE_OPTIONS: recorder, RECORD_TO: journal, RECORD_FOLDER: root, ...environment };
  let lastId = 0;

  const add = (id: number, operation: string, after: State) => {
    const history = histories.get(id) ?? [];
    history.push({ operation, after });
    histories.set(id, history);
  };

  async function client(service: Service, token: string): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < PLANTS; n++) {
      const id = ++lastId;
      const isLong = n % 8 === 0;
      for (const [method, after] of [
        ['POST', `plant ${id} ${isLong ? randomText(LONG_NAME) : ''}`],
        ...(isLong || n % 3 === 0 ? [['PUT', `changed ${id}`] as const] : []),
        ...(n % 4 === 1 ? [['DELETE', 'absent'] as const] : []),
      ] as const) {
        const operation = `${method} ${id}`;
        add(id, operation, after);
        const path = method === 'POST' ? '/plants' : `/plants/${id}`;
        const body = method === 'DELETE' ? undefined : JSON.stringify({ id, name: after });
        const headers = { Authorization: `Bearer ${token}`, 'X-Operation': operation };
        const { status } = await exchange(service.apiUrl + path, { method, agent, headers }, body);
        if (status >= 300) throw new Error(`${operation} got ${status}`);
      }
    }
    agent.destroy();
  }

  for (let round = 0; round < rounds; round++) {
    const service = await startService(folder, { DATA_DIR: dataDir, ...recorded });
    const token = /Bearer (\S+)'/.exec(await service.curl())?.[1] ?? '';
    await Promise.all(Array.from({ length: CLIENTS }, () => client(service, token)));
    const operation = `import ${round}`;
    const plants = Array.from({ length: IMPORTED }, () => ({ id: ++lastId, name: `imported ${lastId}` }));
    for (const { id, name } of plants) add(id, operation, name);
    const list = plants.map((plant) => `${JSON.stringify(plant)}\n`).join('');
    const type = { 'Content-Type': 'application/x-ndjson' };
    const headers = { Authorization: `Bearer ${token}`, ...type, 'X-Operation': operation };
    const agent = new Agent();
    const imported = await exchange(`${service.apiUrl}/import`, { method: 'POST', agent, headers }, list);
    if (!imported.body.includes(`"created":${IMPORTED},`)) throw new Error(imported.body);
    service.kill('SIGTERM');
    await service.exited;

    const args = [projectFile('src/purge.ts'), '--deleted-before', '0s', '--even-if-recent', '--yes'];
    const purge = await startNode(args, folder, { DATA_DIR: dataDir, ...recorded }).outcome();
    if (purge.code !== 0) throw new Error(purge.stderr);
  }
  const token = async () => (await readFile(join(dataDir, 'access-token'), 'utf8')).trim();
  return { journal, root, dataDir, histories, token };
}

function randomText(length: number): string {
  let text = '';
  while (text.length < length) text += Math.random().toString(36).slice(2);
  return text.slice(0, length);
}
