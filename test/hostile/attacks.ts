import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { requestHead } from '../support/http-bytes.ts';
import { exchange, send, type Target } from './attacker.ts';

/** A way to misbehave, and what the service may do about it. */
export interface Attack {
  readonly name: string;
  /** Every right outcome, as attacker.ts words them. */
  readonly outcomes: readonly string[];
  /** One attacker's turn on one connection. @returns its outcome */
  readonly turn: (target: Target) => Promise<string>;
  /** In the long form: how many attackers there are. */
  readonly attackers: number;
  /** In the long form: how many turns all of them start in a second at most. */
  readonly turnsPerSecond: number;
  /** In the long form: how long it goes on. */
  readonly seconds: number;
}

type Details = Partial<Pick<Attack, 'attackers' | 'turnsPerSecond' | 'seconds'>>;
type Turn = (socket: Socket, target: Target) => Promise<void>;

const KILOBYTES = 1024;
const CRLF = '\r\n';
const JSON_TYPE = 'Content-Type: application/json';

/** Of the only request on its connection. */
const onlyHead = (lines: readonly string[], target = 'POST /plants') =>
  requestHead(target, ['Connection: close', ...lines]);

/** By somebody without a good token, unless the turn sends it. */
function attackOf(name: string, outcomes: string[], details: Details, attack: Turn): Attack {
  const turn = (target: Target) => exchange(target, (socket) => attack(socket, target));
  return { name, outcomes, turn, attackers: 16, turnsPerSecond: 50, seconds: 4, ...details };
}

const nothing: Turn = async () => {};

/** By somebody with one: a request, and what is done then. */
const insider = (
  name: string,
  outcomes: string[],
  target: string,
  lines: string[] = [],
  rest = nothing,
  details: Details = {},
) =>
  attackOf(name, outcomes, details, async (socket, to) => {
    await send(socket, onlyHead([`Authorization: Bearer ${to.token}`, ...lines], target));
    await rest(socket, to);
  });

const sends =
  (bytes: string | Uint8Array): Turn =>
  (socket) =>
    send(socket, bytes);

const insidersBody = (name: string, outcomes: string[], body: string | Uint8Array, lines = [JSON_TYPE]) =>
  insider(name, outcomes, 'POST /plants', [...lines, `Content-Length: ${body.length}`], sends(body), {
    attackers: 4,
    turnsPerSecond: 10,
  });

/** Breaks the connection off after so many milliseconds. */
const leaves =
  (milliseconds: number): Turn =>
  async (socket) => {
    await sleep(milliseconds);
    socket.resetAndDestroy();
  };

/** A piece now and then, for as long as it is borne. */
const trickle =
  (piece: string): Turn =>
  async (socket) => {
    while (!socket.destroyed) {
      await send(socket, piece);
      await sleep(500);
    }
  };

const leavesUnread: Turn = (socket, target) => {
  socket.pause();
  return leaves(1_000)(socket, target);
};

const SERVED_OR_CLOSED = ['200 ok', '503 50300', 'closed'];
const half = 30 * KILOBYTES;
const filled = (start: string, repeated: string, end: string) =>
  start + repeated.repeat((2 * half) / repeated.length) + end;
const bomb = gzipSync(`{"id":1,"name":"${'0'.repeat(50 * KILOBYTES ** 2)}"}`);

/** What a proxy in front lets through, since it is well-formed HTTP at a reasonable pace. */
const throughProxies: readonly Attack[] = [
  insidersBody('nested arrays', ['400 40022'], '['.repeat(half) + ']'.repeat(half)),
  insidersBody('a wide object', ['200 ok'], filled('{"id":1,"name":"Monstera"', ',"a":0', '}')),
  insidersBody('a number of many digits', ['400 40022'], filled('{"name":"x","id":', '9', '}')),
  insidersBody('a gzip bomb', ['400 40015'], bomb, [JSON_TYPE, 'Content-Encoding: gzip']),
  insider('a thousand parameters', ['400 40022'], `GET /plants?${'limit=1&'.repeat(500)}${'a&'.repeat(500)}`),
  insider('an Accept of 7 KiB', ['406 40600'], 'GET /plants/1', [`Accept: ${'a/b;q=0.1,'.repeat(700)}`]),
  insider('lists that nobody reads', SERVED_OR_CLOSED, 'GET /plants', [], leavesUnread, { attackers: 64 }),
  insider('lists that are broken off', SERVED_OR_CLOSED, 'GET /plants', [], leaves(20), { turnsPerSecond: 200 }),
  insider('followers that leave', SERVED_OR_CLOSED, 'GET /changes?wait=30', [], leaves(0), { turnsPerSecond: 500 }),
  insider('deletions of one plant', ['204 ok', '404 40401'], 'DELETE /plants/2', ['If-Match: *'], nothing, {
    attackers: 64,
    turnsPerSecond: 500,
  }),
];

const SLOW = `POST /plants HTTP/1.1${CRLF}`;
const FLOOD = requestHead('GET /').repeat(20_000);
/** Half of what MAX_CONNECTIONS allows: beyond it, new connections of others would be closed, too. */
const CROWD = { attackers: 5_000, turnsPerSecond: 1_000, seconds: 14 };

/** What the service withstands without one. */
const withoutProxy: readonly Attack[] = [
  attackOf('5,000 silent connections', ['408 40800', 'closed', 'held'], CROWD, nothing),
  attackOf(
    'slow headers',
    ['408 40800', 'held'],
    { attackers: 1_000, turnsPerSecond: 500, seconds: 13 },
    async (socket, target) => {
      await send(socket, SLOW);
      await trickle(`a: a${CRLF}`)(socket, target);
    },
  ),
  attackOf(
    '20,000 requests at once',
    ['404 40400', '404 40400, 503 50300', 'closed'],
    { attackers: 3, turnsPerSecond: 5, seconds: 10 },
    sends(FLOOD),
  ),
  attackOf('responses that nobody reads', ['closed', 'held'], { attackers: 8 }, async (socket) => {
    socket.pause();
    while (!socket.destroyed) {
      await send(socket, requestHead('GET /openapi.json'));
      await sleep(20);
    }
  }),
  insider(
    'slow bodies, more than requests may be in flight',
    ['408 40800', '503 50300', 'held'],
    'POST /plants',
    [JSON_TYPE, 'Content-Length: 1000'],
    trickle(' '),
    { attackers: 1_500, turnsPerSecond: 500, seconds: 6 },
  ),
];

export const attacks: readonly Attack[] = [...throughProxies, ...withoutProxy];
