import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { UseCases } from '../../../src/application/use-cases.ts';
import { post, startApiServer, TOKEN } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { connectTo, requestHead, responsesIn } from '../../support/http-bytes.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { requestStart, requestText } from '../../support/raw-request.ts';

/*
 * What a connection may be doing, what may come on it then, and how the service may stop meanwhile: each combination ends in
 * time, and never gives a client a response to another request.
 */

const PLANT = '{"id":1,"name":"Monstera"}';
const LARGE = 'x'.repeat(8_000_000);
const CREATE = requestText('POST /plants', PLANT);
const UPLOAD = requestText('POST /plants', PLANT, 'Expect: 100-continue\r\n').slice(0, -PLANT.length);
const READ = requestText('GET /plants/1');

type Act = (socket: Socket) => unknown;
const writes =
  (text: string): Act =>
  (socket) =>
    socket.write(text);
/** Sends a request, and reads the beginning of what comes back. */
const begins =
  (text: string): Act =>
  async (socket) => {
    socket.write(text);
    await once(socket, 'readable');
  };

const states: Readonly<Record<string, Act>> = {
  'never used': (socket) => once(socket, 'connect'),
  idle: begins(CREATE),
  'half a head': writes(CREATE.slice(0, 60)),
  reading: begins(READ),
  streaming: begins(requestText('GET /plants')),
  waiting: (socket) => {
    const begun = requestStart();
    socket.write(requestText('GET /changes?wait=30'));
    return begun;
  },
  uploading: begins(UPLOAD),
  refused: begins(UPLOAD.replace(TOKEN, 'wrong').replace('Expect: 100-continue\r\n', '')),
};

const events: Readonly<Record<string, Act>> = {
  nothing: () => {},
  'a request': writes(CREATE),
  'half a request': writes(CREATE.slice(0, 60)),
  '200 requests': writes(requestHead('GET /').repeat(200)),
  garbage: writes('garbage\r\n\r\n'),
  'a CONNECT': writes('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'),
  'its end': (socket) => socket.end(),
  'its end by a client that reads on': (socket) => {
    socket.allowHalfOpen = true;
    socket.end();
  },
  'a reset': (socket) => socket.resetAndDestroy(),
};

const stops: Readonly<Record<string, readonly [timeout: number, acceptFor?: number] | undefined>> = {
  'does not stop': undefined,
  'stops at once': [2_000],
  'stops after a while': [2_000, 50],
};

/** What a client may get on one connection: its response, perhaps cut off, and a refusal of what came behind it. */
const ALLOWED = /^((100 )?(200|401)? ?){0,2}((400|404|408) ?)?(503 ?)?$/;

/** How what has been begun ends for a client that only reads on. */
const WHOLE: Readonly<Record<string, RegExp>> = {
  reading: /x"}$/,
  streaming: /\]\r\n0\r\n\r\n$/,
  waiting: /"atEnd":true}$/,
};

const combinations = Object.keys(states).flatMap((state) =>
  Object.keys(events).flatMap((event) => Object.keys(stops).map((stop) => [state, event, stop] as const)),
);

test.each(combinations)('%s, then %s, while the service %s', async (state, event, stop) => {
  const listPlants: UseCases['listPlants'] = async () => ({
    first: [{ id: 1n, name: LARGE }],
    batches: more(),
    next: undefined,
  });
  async function* more() {
    for (let id = 2n; id < 4n; id++) yield [{ id, name: LARGE }];
  }
  const readChanges: UseCases['readChanges'] = ({ signal }) =>
    new Promise((resolve) => {
      const end = () => resolve({ changes: [], next: 'x', atEnd: true });
      signal.addEventListener('abort', end);
      // Longer than the response may be unread.
      setTimeout(end, 600);
    });
  const findPlant = async (id: bigint) => ({ id, name: LARGE });
  const limits = { headersTimeout: 400, requestTimeout: 400, responseTimeout: 400, connectionsCheckingInterval: 20 };
  const cases = { listPlants, readChanges, findPlant };
  const server = await startApiServer({ cases, limits: { ...limits, keepAliveTimeout: 400 }, maxStreams: 1 });
  const socket = connectTo(server.url);
  atEnd(() => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await states[state]?.(socket);
  await delay(10);
  const received: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => received.push(bytes));
  const times = stops[stop];
  const stopped = times && server.close(...times);
  await events[event]?.(socket);

  await closed;
  const statuses = responsesIn(Buffer.concat(received)).map(({ status }) => status);
  expect(statuses.join(' ')).toMatch(ALLOWED);
  if (event === 'nothing') expect(Buffer.concat(received).toString('latin1').slice(-100)).toMatch(WHOLE[state] ?? /^/);
  if (stopped) await stopped;
  else {
    // Its places are free again, and others are served.
    await eventually(async () => (await post(server.url, PLANT)).status === 200);
    await eventually(async () => {
      const list = await fetch(`${server.url}/plants`, { headers: { Authorization: `Bearer ${TOKEN}` } });
      await list.body?.cancel();
      return list.status === 200;
    });
  }
  // One line for each request, none of them a defect.
  const lines = server.lines.map((line) => JSON.parse(line));
  expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(lines.length);
  expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
});
