import { exactJson } from './exact-json.ts';
import type { components, operations } from './plant-store.ts';
import { connect, type Failures, parsed, send, stop } from './service.ts';

/*
 * Prints all plants, the one with an id, or those with a text in their names, as lines of JSON that `npm run import` takes:
 *
 *   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
 *   npm run --silent read-plants -w examples/client
 *   npm run --silent read-plants -w examples/client -- 9223372036854775807
 *   npm run --silent read-plants -w examples/client -- --name=rosa
 */

type NewPlant = components['schemas']['NewPlant'];
type ReadError = Failures<operations['listPlants' | 'findPlant']['responses']>;

type Remedy =
  | 'send it again'
  | 'check the id'
  | 'check the id or the text'
  | 'get a token'
  | 'fix this program'
  | 'report it';

/** A number that is forgotten here does not compile, nor does one that the service does not know. */
function remedyOf({ error }: ReadError): Remedy {
  switch (error) {
    case 40800:
    case 50300:
      return 'send it again';
    case 40022:
      return 'check the id or the text';
    case 40401:
    case 41000:
      return 'check the id';
    case 40100:
    case 40101:
    case 40300:
      return 'get a token';
    case 40001:
    case 40600:
    case 41700:
    case 43100:
      return 'fix this program';
    case 50000:
      return 'report it';
  }
}

const PAGE = 1_000;

async function findPlant(id: bigint): Promise<NewPlant> {
  const options = { params: { path: { id } }, parseAs: 'text' } as const;
  const { data } = await send(
    (signal) => parsed<NewPlant, ReadError>(client.GET('/plants/{id}', { ...options, signal })),
    remedyOf,
  );
  return data;
}

/** Page by page: one that the connection broke off is read again. */
async function* listPlants(name: string): AsyncIterable<NewPlant[]> {
  let after: bigint | undefined;
  do {
    // An empty name is as none.
    const query = { limit: PAGE, name, ...(after !== undefined && { after }) };
    const options = { params: { query }, parseAs: 'text' } as const;
    const { data, response } = await send(
      (signal) => parsed<NewPlant[], ReadError>(client.GET('/plants', { ...options, signal })),
      remedyOf,
    );
    yield data;
    after = nextAfter(response.headers.get('Link'));
  } while (after !== undefined);
}

/** The last page has no link to another. */
function nextAfter(link: string | null): bigint | undefined {
  const query = /^<\?(.*)>; rel="next"$/.exec(link ?? '')?.[1];
  const after = new URLSearchParams(query).get('after');
  return after === null ? undefined : BigInt(after);
}

async function print(plants: AsyncIterable<NewPlant[]>): Promise<void> {
  for await (const page of plants) process.stdout.write(page.map((plant) => `${exactJson(plant)}\n`).join(''));
}

async function* only(plant: Promise<NewPlant>): AsyncIterable<NewPlant[]> {
  yield [await plant];
}

const [wanted = '', ...more] = process.argv.slice(2);
const [, id, name = ''] = /^(?:(-?\d+)|--name=(.+))$/s.exec(wanted) ?? [];
const isUnderstood = process.argv.length === 2 || id !== undefined || name !== '';
if (!isUnderstood || more.length > 0) stop('usage: read-plants [ID | --name=TEXT]', 2);
const client = connect();
// Whoever reads this, such as head, has enough.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(1);
  stop(`cannot write the plants (${message})`);
});
await print(id === undefined ? listPlants(name) : only(findPlant(BigInt(id)))).catch((error: Error) =>
  stop(error.message),
);
