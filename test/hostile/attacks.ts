import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { MAX_PLANT_BYTES } from '../../src/wire/schemas.ts';
import { requestHead } from '../support/http-bytes.ts';
import { type Exchange, exchange, type Target } from './attacker.ts';

/** A way to misbehave, and what the service may do about it. */
export interface Attack {
  readonly name: string;
  /** Whether the attacker has a good token. */
  readonly insider: boolean;
  /** Milliseconds that others may wait for this, on top of what strangers may do to them. */
  readonly allowance: number;
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

type Details = Partial<Pick<Attack, 'allowance' | 'attackers' | 'turnsPerSecond' | 'seconds'>>;

/** For a body that is being parsed: test/adapters/http/request/event-loop.full.ts. */
const BODY_TIME = 50;
/** For the 64 KiB that Node reads at once and parses to their end: 11,000 chunks. */
const READ_TIME = 30;

const CRLF = '\r\n';
const JSON_TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const PLANT = '{"id":1,"name":"Monstera"}';
const declared = (body: string | Uint8Array) => `Content-Length: ${body.length}`;

/** Of the only request on its connection. */
const onlyHead = (lines: readonly string[], target = 'POST /plants') =>
  requestHead(target, ['Connection: close', ...lines]);

function attackOf(name: string, insider: boolean, outcomes: string[], details: Details, send: Turn): Attack {
  const turn = (target: Target) => exchange(target, (connection) => send(connection, target));
  const allowance = insider ? BODY_TIME : 0;
  return { name, insider, allowance, outcomes, turn, attackers: 16, turnsPerSecond: 50, seconds: 4, ...details };
}

type Turn = (connection: Exchange, target: Target) => Promise<void>;

/** By somebody without a good token. */
const outsider = (name: string, outcomes: string[], send: Turn, details: Details = {}) =>
  attackOf(name, false, outcomes, details, send);

const nothing: Turn = async () => {};

/** By somebody with one: a request, and what is done then. */
const insidersRequest = (
  name: string,
  outcomes: string[],
  target: string,
  lines: string[] = [],
  rest = nothing,
  details: Details = {},
) =>
  attackOf(name, true, outcomes, details, async (connection, to) => {
    await connection.send(onlyHead([`Authorization: Bearer ${to.token}`, ...lines], target));
    await rest(connection, to);
  });

const insider = (name: string, outcomes: string[], lines: string[], rest: Turn, details?: Details) =>
  insidersRequest(name, outcomes, 'POST /plants', lines, rest, details);

/** All of it at once. */
const bytes = (name: string, outcomes: string[], text: string, details?: Details) =>
  outsider(name, outcomes, ({ send }) => send(text), details);

/** Ten a second: the slowest takes 45 ms, so they use half a core. Twenty would delay everybody. */
const insidersBody = (name: string, outcomes: string[], body: string | Uint8Array, lines = [JSON_TYPE]) =>
  insider(name, outcomes, [...lines, declared(body)], ({ send }) => send(body), { attackers: 4, turnsPerSecond: 10 });

/** What is done once this has been sent. */
const after =
  (text: string, rest: Turn): Turn =>
  async (connection, target) => {
    await connection.send(text);
    await rest(connection, target);
  };

/** Breaks the connection off after so many milliseconds. */
const leaves =
  (milliseconds: number): Turn =>
  async (connection) => {
    await sleep(milliseconds);
    connection.reset();
  };

/** A byte now and then, for as long as it is borne. */
const trickle =
  (text: string): Turn =>
  async (connection) => {
    for (let index = 0; connection.isOpen; index++) {
      await connection.send(text[index % text.length] ?? '');
      await sleep(500);
    }
  };

/** The same piece over and over. */
const flood =
  (piece: string, times: number): Turn =>
  async (connection) => {
    for (let count = 0; count < times && connection.isOpen; count++) await connection.send(piece);
  };

const leavesUnread: Turn = (connection, target) => {
  connection.deafen();
  return leaves(1_000)(connection, target);
};

/** Asks for more and more. */
const readsNothing: Turn = async (connection) => {
  connection.deafen();
  while (connection.isOpen) {
    await connection.send(requestHead('GET /openapi.json'));
    await sleep(20);
  }
};

const crowd = (turnsPerSecond: number) => ({ attackers: 10_000, turnsPerSecond, seconds: 14 });

const REFUSED = ['400 40001'];
const NO_TOKEN = ['401 40100'];
const SLOW = ['408 40800', '503 50300', 'held'];
const SERVED_OR_CLOSED = ['200 ok', '503 50300', 'closed'];
const half = (MAX_PLANT_BYTES - 100) / 2;
const filled = (start: string, repeated: string, end: string) =>
  start + repeated.repeat(Math.floor((MAX_PLANT_BYTES - start.length - end.length) / repeated.length)) + end;
const SMALLEST = requestHead('GET /');
const oneByteChunks = `1${CRLF} ${CRLF}`.repeat(1_000);
const bomb = gzipSync(`{"id":1,"name":"${'0'.repeat(50 * 1024 ** 2)}"}`);

export const attacks: readonly Attack[] = [
  // Connections.
  outsider('10,000 silent connections', ['408 40800', 'closed', 'held'], nothing, crowd(2_000)),
  bytes('10,000 connections kept open after an answer', ['404 40400', 'closed', 'held'], SMALLEST, crowd(1_000)),
  outsider('connections that are reset', ['closed'], async (connection) => connection.reset(), { turnsPerSecond: 500 }),
  outsider('answers that nobody reads', ['closed', 'held'], readsNothing, { attackers: 8 }),
  // Heads.
  outsider('slow headers', ['408 40800', 'held'], after(`POST /plants HTTP/1.1${CRLF}`, trickle(`a: a${CRLF}`)), {
    attackers: 1_000,
    turnsPerSecond: 500,
    seconds: 13,
  }),
  bytes('a header of 32 KiB', ['431 43100', 'closed'], onlyHead([`X: ${'x'.repeat(32 * 1024)}`])),
  bytes('15,000 headers', ['431 43100'], onlyHead(Array.from({ length: 15_000 }, () => 'a:'))),
  bytes('headers without end', ['431 43100', 'closed'], onlyHead(['a: b']).slice(0, -2) + 'a: b\r\n'.repeat(20_000)),
  bytes('20,000 requests at once', ['404 40400', 'closed'], SMALLEST.repeat(20_000), {
    attackers: 3,
    turnsPerSecond: 5,
    seconds: 10,
  }),
  bytes('Content-Length and Transfer-Encoding', REFUSED, onlyHead(['Content-Length: 5', CHUNKED])),
  bytes('two Content-Lengths', REFUSED, onlyHead(['Content-Length: 5', 'Content-Length: 6'])),
  bytes('a Content-Length of 30 digits', REFUSED, onlyHead([`Content-Length: ${'9'.repeat(30)}`])),
  bytes('gzip in the Transfer-Encoding', REFUSED, onlyHead(['Transfer-Encoding: gzip, chunked'])),
  bytes('a space before the colon', REFUSED, onlyHead(['Content-Length : 5'])),
  bytes('a folded header', REFUSED, onlyHead(['a: b', ' c: d'])),
  bytes('a NUL in a header', REFUSED, onlyHead(['a: b\0c'])),
  bytes('line feeds alone', REFUSED, onlyHead([]).replaceAll(CRLF, '\n')),
  bytes('two Hosts', REFUSED, onlyHead(['Host: b'])),
  bytes('a target that is no URL', REFUSED, onlyHead([]).replace('/plants', 'http://[/plants')),
  bytes('a target with a NUL', REFUSED, onlyHead([]).replace('/plants', '/pla\0nts')),
  bytes('a target of 31 KiB', ['404 40400'], onlyHead([]).replace('/plants', `/${'%'.repeat(31 * 1024)}`)),
  bytes('no HTTP', REFUSED, 'GARBAGE\r\n\r\n'),
  bytes('the preface of HTTP/2', REFUSED, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  bytes('a method of its own', REFUSED, onlyHead([]).replace('POST', 'BREW')),
  bytes('the TLS of another port', REFUSED, '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'),
  bytes('CONNECT', ['400 40001'], `CONNECT a:1 HTTP/1.1${CRLF}Host: a${CRLF}${CRLF}`),
  // Bodies without a token.
  outsider('a slow body without a token', NO_TOKEN, after(onlyHead([JSON_TYPE, 'Content-Length: 1000']), trickle(' '))),
  outsider(
    'one-byte chunks without a token',
    [...NO_TOKEN, 'closed'],
    after(onlyHead([JSON_TYPE, CHUNKED]), flood(oneByteChunks, 100)),
    { turnsPerSecond: 5, allowance: READ_TIME },
  ),
  // Bodies with one.
  insider('slow bodies, more than requests may be in flight', SLOW, [JSON_TYPE, 'Content-Length: 1000'], trickle(' '), {
    attackers: 1_500,
    turnsPerSecond: 500,
    seconds: 6,
  }),
  // With 64 there would be no room for other bodies: each may have a megabyte.
  insider('slow chunked bodies', SLOW, [JSON_TYPE, CHUNKED], trickle(oneByteChunks), {
    attackers: 50,
    turnsPerSecond: 100,
  }),
  insider(
    'Expect, but no body',
    ['408 40800', 'held'],
    [JSON_TYPE, 'Content-Length: 9', 'Expect: 100-continue'],
    nothing,
  ),
  insider('a declared gigabyte', ['400 40013'], [JSON_TYPE, `Content-Length: ${1024 ** 3}`], nothing),
  insider(
    'a body that never ends',
    ['400 40013', 'closed'],
    [JSON_TYPE, CHUNKED],
    flood(`10000${CRLF}${' '.repeat(65_536)}${CRLF}`, 1_000),
    { attackers: 4, turnsPerSecond: 5 },
  ),
  insider('one-byte chunks', ['400 40013', 'closed'], [JSON_TYPE, CHUNKED], flood(oneByteChunks, 100), {
    turnsPerSecond: 5,
  }),
  insider('a chunk without end', REFUSED, [JSON_TYPE, CHUNKED], ({ send }) => send(`${'f'.repeat(20)}${CRLF}`)),
  insider('a long chunk extension', [...REFUSED, 'closed'], [JSON_TYPE, CHUNKED], ({ send }) =>
    send(`1;${'x'.repeat(100_000)}`),
  ),
  insider(
    'uploads that are broken off',
    ['closed'],
    [JSON_TYPE, 'Content-Length: 1000'],
    after(' '.repeat(500), leaves(0)),
    {
      turnsPerSecond: 500,
    },
  ),
  insidersBody('nested arrays', ['400 40022'], '['.repeat(half) + ']'.repeat(half)),
  insidersBody('a wide object', ['200 ok'], filled('{"id":1,"name":"Monstera"', ',"a":0', '}')),
  insidersBody('a number of 65,000 digits', ['400 40022'], filled('{"name":"x","id":', '9', '}')),
  insidersBody('a name of escapes', ['400 40022'], filled('{"id":2,"name":"', '\\u0000', '"}')),
  insidersBody('a gzip bomb', ['400 40015'], bomb, [JSON_TYPE, 'Content-Encoding: gzip']),
  ...['application/json; charset="utf-16"', 'application/json\t,text/plain', `${'a'.repeat(10_000)}/json`].map((type) =>
    insidersBody(`the type ${type.slice(0, 45)}`, ['400 40015'], PLANT, [`Content-Type: ${type}`]),
  ),
  outsider('an Accept of 31 KiB for the page', ['200 ok'], ({ send }) =>
    send(onlyHead([`Accept: text/html,a/b;x="${','.repeat(31_000)}`], 'GET /')),
  ),
  // Reads, changes and deletions.
  insidersRequest('lists that nobody reads', SERVED_OR_CLOSED, 'GET /plants', [], leavesUnread, { attackers: 64 }),
  insidersRequest('lists that are broken off', SERVED_OR_CLOSED, 'GET /plants', [], leaves(20), {
    turnsPerSecond: 200,
  }),
  insidersRequest('6,000 parameters', ['400 40022'], `GET /plants?${'limit=1&'.repeat(3_000)}${'a&'.repeat(3_000)}`),
  insidersRequest('an Accept of 31 KiB', ['406 40600'], 'GET /plants/1', [`Accept: ${'a/b;q=0.1,'.repeat(2_900)}`]),
  insidersRequest('an If-None-Match of 31 KiB', ['200 ok', '404 40401', '410 41000'], 'GET /plants/1', [
    `If-None-Match: ${'"x",'.repeat(7_700)}`,
  ]),
  insidersRequest('a tag of 31 KiB', ['400 40022'], `GET /plants?limit=1000&tag=${'x'.repeat(31_000)}`),
  insidersRequest('a name of 31 KiB', ['400 40022'], `GET /plants?limit=1000&name=${'x'.repeat(31_000)}`),
  insidersRequest('a position of 31 KiB', ['400 40022'], `GET /changes?after=${'x'.repeat(31_000)}`),
  insidersRequest('followers that leave', SERVED_OR_CLOSED, 'GET /changes?wait=30', [], leaves(0), {
    turnsPerSecond: 500,
  }),
  insidersRequest('deletions of one plant', ['204 ok', '404 40401'], 'DELETE /plants/2', ['If-Match: *'], nothing, {
    attackers: 64,
    turnsPerSecond: 500,
  }),
  insidersBody('a parameter of 10 KiB', ['200 ok'], PLANT, [`Content-Type: application/json; ${'a'.repeat(10_000)}`]),
];
