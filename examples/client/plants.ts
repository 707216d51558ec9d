import { openAsBlob } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import createClient from 'openapi-fetch';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { exactJson, parseExactly } from './exact-json.ts';
import type { components, operations, paths } from './plant-store.ts';

/* A client with types made of the service's own OpenAPI document (generate.ts). */

const USAGE = `usage: plants create ID NAME [TAG]
       plants read [ID | --name=TEXT]
       plants change ID [--name=NAME] [--tag=TAG | --no-tag]
       plants delete ID
       plants follow [POSITION]
       plants import FILE.csv | FILE.ndjson
       plants verify WEBHOOK-ID WEBHOOK-TIMESTAMP WEBHOOK-SIGNATURE < BODY

follow prints pages of changes for ever, and the "next" of each is the position after it. The service is that of
PLANT_STORE_URL and PLANT_STORE_TOKEN; verify needs WEBHOOK_SECRET.`;

const { PLANT_STORE_URL: url = 'http://127.0.0.1:3000', PLANT_STORE_TOKEN = '', WEBHOOK_SECRET = '' } = process.env;

type NewPlant = components['schemas']['NewPlant'];
type Content = components['schemas']['Plant'];

type Failure = components['schemas']['Error'];

const AGAIN = 'send it again';

/** What to do about each error, by its number. */
const REMEDIES: Readonly<Record<number, string>> = {
  40000: 'fix the list',
  40001: 'fix this program',
  40009: 'give it another id',
  40010: 'give it another id',
  40013: 'send less',
  40015: 'fix this program',
  40022: 'fix what it names',
  40100: 'get a token',
  40101: 'get a token',
  40300: 'get a token',
  40400: 'fix this program',
  40401: 'check the id',
  40500: 'fix this program',
  40600: 'fix this program',
  40800: AGAIN,
  41000: 'check the id',
  41001: 'start again without a position',
  41200: 'do it again',
  41700: 'fix this program',
  43100: 'fix this program',
  50000: 'report it',
  50100: 'read the store as a list',
  50300: AGAIN,
};

class Refused extends Error {
  readonly error: number;
  constructor({ error, message }: Failure, { headers }: Response) {
    super(`${error}: ${message} (${REMEDIES[error]}; request ${headers.get('X-Request-Id')})`);
    this.error = error;
  }
}

interface Outcome {
  /** JSON, whose ids openapi-fetch itself would round. */
  readonly data?: string;
  readonly error?: Failure;
  readonly response: Response;
}

/**
 * Sends a request, up to 5 times if that can help, which is safe.
 *
 * @throws Error that says what is wrong and what to do about it
 */
async function send<Data>(
  request: (signal: AbortSignal) => Promise<Outcome>,
): Promise<{ data: Data; headers: Headers }> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await request(AbortSignal.timeout(60_000)).catch((failure: Error) => {
      if (!isLost(failure) || attempt === 5) throw unreachable(failure);
    });
    const { data, error, response } = outcome ?? {};
    if (response?.ok) return { data: (data ? parsed(data) : undefined) as Data, headers: response.headers };
    if (response) {
      // What stands in front of the service has errors of its own.
      const remedy = error && REMEDIES[error.error];
      if (!remedy) throw notPlantStore();
      if (remedy !== AGAIN || attempt === 5) throw new Refused(error, response);
    }
    await setTimeout(Number(response?.headers.get('Retry-After') ?? 1) * 1_000);
  }
}

function parsed(json: string): unknown {
  try {
    return parseExactly(json);
  } catch {
    throw notPlantStore();
  }
}

const notPlantStore = () => new Error(`${url} does not respond as Plant Store does: is that its address?`);

/** Before the response, or in the middle of it: what has arrived is not all. */
const isLost = ({ cause }: Error) =>
  ['UND_ERR_SOCKET', 'ECONNRESET'].includes((cause as NodeJS.ErrnoException | undefined)?.code ?? '');

/** fetch keeps the reason in the cause, which has no message if several addresses were tried. */
function unreachable(failure: Error): Error {
  const { message, code } = (failure.cause ?? failure) as NodeJS.ErrnoException;
  return new Error(`cannot reach ${url} (${message || code}): is the service running there?`);
}

const headers = { Authorization: `Bearer ${PLANT_STORE_TOKEN}` };
const client = createClient<paths>({ baseUrl: url, headers, bodySerializer: exactJson });
const parseAs = 'text';

const create = (body: NewPlant) =>
  send<Content>((signal) => client.POST('/plants', { body, parseAs, signal })).then(({ data }) => data);

const find = (id: bigint) =>
  send<NewPlant>((signal) => client.GET('/plants/{id}', { params: { path: { id } }, parseAs, signal }));

/** Page by page: one that the connection broke off is read again. An empty name is as none. */
async function list(name: string): Promise<void> {
  const query: NonNullable<operations['listPlants']['parameters']['query']> = { limit: 1_000, name };
  for (;;) {
    const { data, headers } = await send<NewPlant[]>((signal) =>
      client.GET('/plants', { params: { query }, parseAs, signal }),
    );
    print(...data);
    // The last page has no link to another.
    const [, next] = /^<\?(.*)>; rel="next"$/.exec(headers.get('Link') ?? '') ?? [];
    const after = new URLSearchParams(next).get('after');
    if (after === null) return;
    query.after = BigInt(after);
  }
}

/**
 * Changes a plant to what the function makes of it, or deletes it if that is undefined. If somebody else changes it at the
 * same time, it does the same to what they have made of it: the ETag makes sure that nothing of that is lost.
 *
 * @returns what the plant is then, or was
 */
async function change(id: bigint, changed: (plant: Content) => Content | undefined): Promise<NewPlant> {
  for (let attempt = 1; ; attempt++) {
    const { data: found, headers } = await find(id);
    const body = changed(found);
    const params = { path: { id }, header: { 'If-Match': headers.get('ETag') ?? '' } };
    try {
      if (body)
        return (await send<NewPlant>((signal) => client.PUT('/plants/{id}', { params, body, parseAs, signal }))).data;
      await send((signal) => client.DELETE('/plants/{id}', { params, parseAs, signal }));
      return found;
    } catch (failure) {
      if (!(failure instanceof Refused && failure.error === 41200) || attempt === 5) throw failure;
      console.error('somebody else has changed it meanwhile: trying again with what it is now');
    }
  }
}

async function follow(position?: string): Promise<never> {
  for (let after = position; ; ) {
    const query = { limit: 1_000, wait: 30, ...(after !== undefined && { after }) };
    const { data } = await send<components['schemas']['Changes']>((signal) =>
      client.GET('/changes', { params: { query }, parseAs, signal }),
    );
    if (data.changes.length > 0) print(data);
    after = data.next;
  }
}

/** A list of at most 20,000 plants and a mebibyte. For longer ones there is `npm run import`. */
async function importList(file: string): Promise<void> {
  const body = await openAsBlob(file);
  const headers = { 'Content-Type': file.endsWith('.csv') ? 'text/csv' : 'application/x-ndjson' };
  const { data } = await send<components['schemas']['ImportResult']>((signal) =>
    client.POST('/import', { body, bodySerializer: () => body, headers, parseAs, signal }),
  );
  print(data);
  if (data.refused.length > 0) process.exitCode = 2;
}

async function verify(id: string, timestamp: string, signature: string): Promise<void> {
  if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(WEBHOOK_SECRET))
    stop('WEBHOOK_SECRET must be that of the service: whsec_...');
  const body = await buffer(process.stdin);
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  try {
    new Webhook(WEBHOOK_SECRET).verify(body, headers);
  } catch (error) {
    if (error instanceof WebhookVerificationError) stop(`the service has not sent this: ${error.message}`);
    throw error;
  }
  // The parser of the package would round ids.
  print(parseExactly(body.toString()));
}

function print(...values: readonly unknown[]): void {
  process.stdout.write(values.map((value) => `${exactJson(value)}\n`).join(''));
}

function stop(message: string, code = 1): never {
  console.error(message);
  process.exit(code);
}

type Command = () => Promise<void>;

/** @returns undefined if the arguments are wrong */
function commandOf([name, first, ...others]: readonly string[]): Command | undefined {
  if (name === 'follow') return first === '' || others.length > 0 ? undefined : () => follow(first);
  if (first && /^-?\d+$/.test(first)) return commandOn(BigInt(first), name, others);
  const [second, third, ...more] = others;
  if (name === 'verify' && first && second && third && more.length === 0) return () => verify(first, second, third);
  if (others.length > 0) return undefined;
  if (name === 'read' && first === undefined) return () => list('');
  if (name === 'read' && first?.startsWith('--name=')) return () => list(first.replace('--name=', ''));
  return name === 'import' && first && /\.(csv|ndjson)$/.test(first) ? () => importList(first) : undefined;
}

function commandOn(id: bigint, command: string | undefined, args: readonly string[]): Command | undefined {
  const [name, tag, ...more] = args;
  if (command === 'create' && name !== undefined && more.length === 0) {
    return () => create({ id, name, ...(tag !== undefined && { tag }) }).then(print);
  }
  if (command === 'change') {
    const { name: newName, tag: newTag, 'no-tag': hasNoTag } = optionsOf(args);
    if ((newName ?? newTag ?? hasNoTag) === undefined || (newTag !== undefined && hasNoTag)) return undefined;
    const changed = ({ name, tag }: Content): Content => {
      const wanted = hasNoTag ? undefined : (newTag ?? tag);
      return { name: newName ?? name, ...(wanted !== undefined && { tag: wanted }) };
    };
    return () => change(id, changed).then(print);
  }
  if (name !== undefined) return undefined;
  if (command === 'read') return () => find(id).then(({ data }) => print(data));
  return command === 'delete' ? () => change(id, () => undefined).then(print) : undefined;
}

/** None if there is one that is unknown. */
function optionsOf(args: readonly string[]) {
  const options = { name: { type: 'string' }, tag: { type: 'string' }, 'no-tag': { type: 'boolean' } } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch {
    return {};
  }
}

const args = process.argv.slice(2);
const command = commandOf(args) ?? stop(USAGE, 2);
if (args[0] !== 'verify' && !/^[\w.~+/-]+=*$/.test(PLANT_STORE_TOKEN)) {
  stop('PLANT_STORE_TOKEN must be a token of the service; one that the service made itself is in data/access-token');
}
// Whoever reads this, such as head, has enough.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(1);
  stop(`cannot write the plants (${message})`);
});
await command().catch((error: Error) => stop(error.message));
