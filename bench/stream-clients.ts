import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { plantStore, type Server, startServer, TOKEN } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import type { BenchDatabase } from '../tooling/session-database.ts';
import { createPlant } from './create-plant.ts';
import { runLoad } from './load.ts';
import { timed } from './rounds.ts';

/* Clients that read all plants as a stream: fast ones, slow ones, and those that leave. */

/** Seconds that creates and slow readers are watched. */
const WATCHED = 10;

/** @param name reads only the plants that have it in their names @param more of curl's options */
function curl({ url }: Server, name?: string, ...more: readonly string[]) {
  const list = name === undefined ? `${url}/plants` : `${url}/plants?${new URLSearchParams({ name })}`;
  const args = ['-sf', '-o', '/dev/null', '-H', `Authorization: Bearer ${TOKEN}`, ...more, list];
  return spawn('curl', args, { stdio: 'ignore' });
}

/** Reads all plants, or those with this in their names, as fast as they come. @returns the seconds that it took */
export function stream(server: Server, name?: string): Promise<number> {
  return timed(async () => {
    const [code] = await once(curl(server, name), 'exit');
    if (code !== 0) throw new Error(`the stream was broken off (curl: ${code})`);
  });
}

/** @returns the most bytes of resident memory until the work is done */
export async function peakDuring({ pid }: Server, work: Promise<unknown>): Promise<number> {
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMemory(pid, 'now'));
  }, 50);
  try {
    await work;
  } finally {
    clearInterval(sampling);
  }
  return peak;
}

/** A client that reads 200 KiB a second: the memory, and how often a connection of the service was not idle. */
export async function slowReader(server: Server, { query }: BenchDatabase) {
  const client = curl(server, undefined, '--limit-rate', '200k');
  const ended = once(client, 'exit');
  let samples = 0;
  let busy = 0;
  const memory = await peakDuring(
    server,
    (async () => {
      for (const end = performance.now() + WATCHED * 1_000; performance.now() < end; samples++) {
        const [row] = await query(
          `select count(*) from pg_stat_activity where application_name = 'plant-store' and state <> 'idle'`,
        );
        if (Number(row?.count) > 0) busy++;
        await sleep(20);
      }
    })(),
  );
  client.kill();
  await ended;
  return { memory, busyPart: busy / samples };
}

/** Twenty clients in turn that leave in the middle of a stream. */
export function gonePeak(server: Server): Promise<number> {
  return peakDuring(
    server,
    (async () => {
      for (let n = 0; n < 20; n++) {
        const client = curl(server);
        const ended = once(client, 'exit');
        await sleep(200);
        client.kill('SIGKILL');
        await ended;
      }
    })(),
  );
}

/** Creates alone, and then while three clients read all plants again and again. */
export async function createsBesideStreams(server: Server, signal: AbortSignal) {
  const load = { connections: 64, seconds: WATCHED, signal };
  const alone = await runLoad(server.url, load);
  const stop = new AbortController();
  const readers = [1, 2, 3].map(async () => {
    while (!stop.signal.aborted) {
      const client = curl(server);
      stop.signal.addEventListener('abort', () => client.kill(), { once: true });
      await once(client, 'exit');
    }
  });
  const beside = await runLoad(server.url, load);
  stop.abort();
  await Promise.all(readers);
  const result = {
    throughput: beside.answers / beside.seconds / (alone.answers / alone.seconds),
    p99: beside.p99 / alone.p99,
  };
  console.error(`creates beside 3 streams: throughput ${number(result.throughput)}, p99 ${number(result.p99)}`);
  return result;
}

/** The longest of the creates, one after another, that a stream of the embedded database meets, in milliseconds. */
export async function embeddedCreate(session: Session): Promise<number> {
  const dataDir = join(session.folder, 'embedded');
  const server = await startServer(
    { ...plantStore, environment: { DATABASE_URL: '', DATA_DIR: dataDir } },
    '',
    session,
  );
  const create = (id: number) => createPlant(server, { id, name: `Plant number ${id}`, tag: 'tag' });
  const COUNT = 100_000;
  for (let id = 0; id < COUNT; id += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => create(id + n)));
  }
  let longest = 0;
  let reading = true;
  const readers = Promise.all([stream(server), stream(server), stream(server)]).finally(() => {
    reading = false;
  });
  for (let id = COUNT; reading; id++) longest = Math.max(longest, await timed(() => create(id)));
  await readers;
  return longest * 1_000;
}
