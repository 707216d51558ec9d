import { randomInt } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { embeddedDatabase } from '../src/adapters/postgres/embedded.ts';
import type { NewPlant } from '../src/domain/plant.ts';
import { markdownTable } from '../tooling/markdown-table.ts';
import { type ApiClient, type ApiResponse, apiClient } from './support/api-client.ts';
import { TOKEN } from './support/api-server.ts';
import { putEmbeddedDatabase } from './support/embedded-template.ts';
import { firstWrong, type State, type Step } from './support/histories.ts';
import { startService, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, storedPlants, storedPlantsAt } from './support/test-database.ts';

/*
 * Creations, changes, deletions and their late retries, racing for few ids: what all clients have seen must be what one
 * client could have seen that did the same one after another. So nothing deleted ever comes back, and no update is lost.
 */

const CLIENTS = 32;
/** Ids over which the requests move on, so that each is created, changed and deleted while others are. */
const IDS = 300;
/** Ids that are in use at a time. */
const WINDOW = 16;

/** An instance or two of the service, as processes. */
interface Running {
  readonly clients: readonly ApiClient[];
  /** Ends them. @returns everything that is stored */
  stop(): Promise<NewPlant[]>;
}

async function onPostgres(): Promise<Running> {
  const { url, drop } = await migratedDatabase();
  const start = async () => startService(await temporaryFolder(), { ...environment, DATABASE_URL: url });
  const services = await Promise.all([start(), start()]);
  const clients = services.map(({ apiUrl }) => apiClient(apiUrl));
  return {
    clients,
    async stop() {
      for (const each of clients) each.close();
      for (const service of services) {
        service.kill('SIGTERM');
        await service.exited;
      }
      const plants = await storedPlantsAt(url);
      await drop();
      return plants;
    },
  };
}

async function onEmbedded(): Promise<Running> {
  const folder = await temporaryFolder();
  await putEmbeddedDatabase(folder);
  const service = await startService(folder, { ...environment, DATA_DIR: folder });
  const client = apiClient(service.apiUrl);
  return {
    clients: [client],
    async stop() {
      client.close();
      service.kill('SIGTERM');
      await service.exited;
      const database = await embeddedDatabase(folder);
      const plants = await storedPlants(database);
      await database.close();
      return plants;
    },
  };
}

const environment = { ACCESS_TOKENS: TOKEN, LOG_LEVEL: 'error' };

const stateOf = (name: string, tag: string): State => `plant ${name} ${tag}`;

/** What each response says of the state before. */
const outcomes: Record<string, (before: State, sent: Sent) => State | undefined> = {
  'POST 200': (before, { content }) => (before === 'absent' || before === content ? content : undefined),
  'POST 40009': (before, { content }) => (isPlant(before) && before !== content ? before : undefined),
  'POST 40010': onlyIf((before) => before === 'deleted'),
  'GET 200': (before, { seen }) => (before === seen ? before : undefined),
  'PUT 200': (before, { content, expected }) =>
    isPlant(before) && (expected === undefined || before === expected || before === content) ? content : undefined,
  'PUT 41200': (before, { content, expected }) =>
    isPlant(before) && expected !== undefined && before !== expected && before !== content ? before : undefined,
  'DELETE 204': (before, { expected }) =>
    before === 'deleted' || (isPlant(before) && (expected === undefined || before === expected))
      ? 'deleted'
      : undefined,
  'DELETE 41200': (before, { expected }) =>
    isPlant(before) && expected !== undefined && before !== expected ? before : undefined,
  ...Object.fromEntries(
    ['GET', 'PUT', 'DELETE'].map((method) => [`${method} 40401`, onlyIf((before) => before === 'absent')]),
  ),
  ...Object.fromEntries(['GET', 'PUT'].map((method) => [`${method} 41000`, onlyIf((before) => before === 'deleted')])),
};

/**
 * What a refused creation may have done before it looked who has the id: stored its plant, which another client has
 * changed or deleted by then. The same happens to a retry of a creation whose response was lost.
 */
const insertOf =
  ({ content }: Sent) =>
  (before: State) =>
    before === 'absent' ? content : before;

interface Sent {
  /** What the request would make of the plant. */
  readonly content: State;
  /** The plant that If-Match names. */
  readonly expected: State | undefined;
  /** The plant in the response. */
  readonly seen: State | undefined;
}

function onlyIf(condition: (before: State) => boolean) {
  return (before: State) => (condition(before) ? before : undefined);
}

function isPlant(state: State): boolean {
  return state !== 'absent' && state !== 'deleted';
}

/** The plant in the body of a response. */
function seenIn({ status, body }: ApiResponse): State | undefined {
  if (status !== 200) return undefined;
  const { name, tag } = JSON.parse(body);
  return stateOf(name, tag);
}

const report: string[][] = [];
afterAll(() => {
  process.stdout.write(`\n${markdownTable(['database', 'response', 'times'], report)}\n\n`);
});

describe.each([
  ['two instances on Postgres', onPostgres, 10_000],
  // It does one after another.
  ['the embedded database', onEmbedded, 5_000],
])('on %s', (where, start, count) => {
  test('never brings back what was deleted, and gives no response that was not right at its time', async () => {
    const { clients, stop } = await start();
    const steps = new Map<number, Step[]>();
    /** Entity tags that any client has seen, by id. */
    const etags = new Map<number, [string, State][]>();
    const counts = new Map<string, number>();
    let clock = 0;
    let requests = 0;

    async function sendOne(n: number): Promise<void> {
      const client = clients[n % clients.length] as ApiClient;
      const newest = Math.floor((n / count) * IDS) + WINDOW;
      // Some are late retries for ids that were used long ago.
      const id = randomInt(8) === 0 ? randomInt(newest) : newest - randomInt(WINDOW);
      const method = (['POST', 'POST', 'PUT', 'PUT', 'PUT', 'GET', 'GET'] as const)[randomInt(7)] ?? 'GET';
      const kind = randomInt(25) === 0 ? 'DELETE' : method;
      const [name, tag] = [`${randomInt(3)}`, 'tag'];
      const known = etags.get(id) ?? [];
      const isConditional = (kind === 'PUT' || kind === 'DELETE') && known.length > 0 && randomInt(2) === 0;
      const [ifMatch, expected] = (isConditional ? known[Math.max(0, known.length - 1 - randomInt(3))] : []) ?? [];
      const body = JSON.stringify(kind === 'POST' ? { id, name, tag } : { name, tag });
      const from = clock++;
      const response = await client.send(kind, kind === 'POST' ? '/plants' : `/plants/${id}`, {
        ...((kind === 'POST' || kind === 'PUT') && { body }),
        ifMatch,
      });
      const to = clock++;
      const seen = seenIn(response);
      if (response.etag !== undefined && seen !== undefined) etags.set(id, [...known, [response.etag, seen]]);
      const answer = `${kind} ${response.error ?? response.status}`;
      counts.set(answer, (counts.get(answer) ?? 0) + 1);
      const sent = { content: stateOf(name, tag), expected, seen };
      const apply = (before: State) => outcomes[answer]?.(before, sent);
      const text = `${answer} ${sent.content}${expected === undefined ? '' : ` if ${expected}`} -> ${seen ?? ''}`;
      const own = [{ from, to, text, apply }];
      if (kind === 'POST' && response.status === 400) own.push({ from, to, text: 'its insert', apply: insertOf(sent) });
      steps.set(id, [...(steps.get(id) ?? []), ...own]);
    }

    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (requests < count) await sendOne(requests++);
      }),
    );
    const stored = new Map((await stop()).map(({ id, name, tag = '' }) => [Number(id), stateOf(name, tag)]));
    for (const [answer, times] of [...counts].sort()) report.push([where, answer, `${times}`]);

    expect([...counts.keys()].filter((answer) => outcomes[answer] === undefined)).toEqual([]);
    const wrong = [...steps].flatMap(([id, seen]) => {
      const inTheEnd = stored.get(id);
      const apply = (before: State) =>
        (isPlant(before) ? before === inTheEnd : inTheEnd === undefined) ? before : undefined;
      const end = { from: clock, to: clock + 1, text: `table -> ${inTheEnd}`, apply };
      const first = firstWrong([...seen, end]);
      return first === undefined ? [] : [`id ${id}:\n${first}`];
    });
    expect(wrong).toEqual([]);
    // All that can be answered was.
    expect([...counts.keys()].sort()).toEqual(Object.keys(outcomes).sort());
  });

  test('loses no update of 8 clients that change what they have read, with If-Match', async () => {
    const { clients, stop } = await start();
    await clients[0]?.send('POST', '/plants', { body: '{"id":1,"name":"0"}' });
    let successes = 0;
    const statuses = new Set<number>();
    await Promise.all(
      Array.from({ length: 8 }, async (_, who) => {
        const client = clients[who % clients.length] as ApiClient;
        for (let attempt = 0; attempt < 50; attempt++) {
          const { body, etag } = await client.send('GET', '/plants/1');
          // Contents of its own: that of another client would be a success, too, since it is so already.
          const next = JSON.stringify({ name: `${Number(JSON.parse(body).name) + 1}`, tag: `${who} ${attempt}` });
          const { status } = await client.send('PUT', '/plants/1', { body: next, ifMatch: etag });
          statuses.add(status);
          if (status === 200) successes++;
        }
      }),
    );
    expect(await stop()).toEqual([expect.objectContaining({ id: 1n, name: `${successes}` })]);
    expect([...statuses].sort()).toEqual([200, 412]);
  });
});
