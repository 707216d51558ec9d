import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import { TOKEN } from '../../tooling/server-process.ts';

/** One that follows /changes, as a consumer does. */
export interface Follower {
  /** Resolves to the time of its next change, as performance.now() counts. */
  changed(): Promise<number>;
  /** Resolves after the signal has aborted. @throws Error if it could not go on */
  readonly ended: Promise<void>;
}

/** Starts to follow from the position on, until the signal aborts. */
export function follow(url: string, after: string, signal: AbortSignal): Follower {
  const agent = new Agent({ keepAlive: true });
  let waiting: ((time: number) => void)[] = [];

  async function run(): Promise<void> {
    for (let next = after; !signal.aborted; ) {
      const page = await read(url, next, 30, agent, signal);
      next = page.next;
      if (page.changes === 0) continue;
      const now = performance.now();
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake(now);
    }
  }

  const ended = run()
    .catch((error) => {
      if (!signal.aborted) throw error;
    })
    .finally(() => agent.destroy());
  return { changed: () => new Promise((resolve) => waiting.push(resolve)), ended };
}

/** The position behind all changes that there are. */
export async function endOf(url: string, signal: AbortSignal): Promise<string> {
  const agent = new Agent({ keepAlive: true });
  try {
    for (let next = ''; ; ) {
      const page = await read(url, next, 0, agent, signal);
      if (page.atEnd) return page.next;
      next = page.next;
    }
  } finally {
    agent.destroy();
  }
}

interface Page {
  /** How many there are. */
  readonly changes: number;
  readonly next: string;
  readonly atEnd: boolean;
}

function changesIn(body: string): number {
  const begin = '{"id":';
  let count = 0;
  for (let at = body.indexOf(begin); at >= 0; at = body.indexOf(begin, at + begin.length)) count++;
  return count;
}

/** Not by fetch, nor by JSON.parse: both would take more of the machine than the service. */
function read(url: string, after: string, wait: number, agent: Agent, signal: AbortSignal): Promise<Page> {
  const query = `limit=1000&wait=${wait}${after && `&after=${after}`}`;
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return new Promise((resolve, reject) => {
    get(`${url}/changes?${query}`, { agent, headers, signal }, async (response) => {
      try {
        const body = await text(response);
        if (response.statusCode !== 200) throw new Error(`/changes: ${response.statusCode} ${body}`);
        const [, next = '', atEnd] = /"next":"([\w-]+)","atEnd":(\w+)\}$/.exec(body) ?? [];
        resolve({ changes: changesIn(body), next, atEnd: atEnd === 'true' });
      } catch (error) {
        reject(error);
      }
    }).on('error', reject);
  });
}
