import { parseArgs } from 'node:util';
import { exactJson } from './exact-json.ts';
import type { components, operations } from './plant-store.ts';
import { connect, type Failures, type Outcome, parsed, send, stop } from './service.ts';

/*
 * Changes the name or the tag of a plant and keeps the other, or deletes it. Prints what it is then, or was. If somebody
 * else changes the plant at the same time, it says so and does the same to what they have made of it:
 *
 *   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
 *   npm run --silent change-plant -w examples/client -- 9223372036854775807 --name='Pinus longaeva' --tag=conifer
 *   npm run --silent change-plant -w examples/client -- 9223372036854775807 --no-tag
 *   npm run --silent change-plant -w examples/client -- 9223372036854775807 --delete
 */

type NewPlant = components['schemas']['NewPlant'];
type Plant = components['schemas']['Plant'];
type ChangeError = Failures<operations['findPlant' | 'changePlant' | 'deletePlant']['responses']>;

type Remedy =
  | 'send it again'
  | 'do it again'
  | 'check the id'
  | 'fix the id or the plant'
  | 'get a token'
  | 'fix this program'
  | 'report it';

/** A number that is forgotten here does not compile, nor does one that the service does not know. */
function remedyOf({ error }: ChangeError): Remedy {
  switch (error) {
    case 40800:
    case 50300:
      return 'send it again';
    case 41200:
      return 'do it again';
    case 40401:
    case 41000:
      return 'check the id';
    case 40013:
    case 40022:
      return 'fix the id or the plant';
    case 40100:
    case 40101:
    case 40300:
      return 'get a token';
    case 40000:
    case 40001:
    case 40015:
    case 40600:
    case 41700:
    case 43100:
      return 'fix this program';
    case 50000:
      return 'report it';
  }
}

const ATTEMPTS = 5;

type Changed = NewPlant | 'somebody else was first';

/**
 * Changes the plant to what the function makes of it, or deletes it if that is undefined. The ETag makes sure that nothing
 * is lost that somebody else has changed since it was read.
 *
 * @returns what the plant is then, or was
 * @throws Error that says what is wrong and what to do about it
 */
async function change(id: bigint, changed: (plant: NewPlant) => Plant | undefined): Promise<NewPlant> {
  for (let attempt = 1; ; attempt++) {
    const { data: found, response } = await send((signal) => find(id, signal), remedyOf);
    const etag = response.headers.get('ETag') ?? '';
    const plant = changed(found);
    const { data: now } = await send(async (signal): Promise<Outcome<Changed, ChangeError>> => {
      const outcome = await (plant ? replace(id, plant, etag, signal) : remove(found, etag, signal));
      const isDifferent = outcome.error?.error === 41200 && attempt < ATTEMPTS;
      return isDifferent ? { data: 'somebody else was first', response: outcome.response } : outcome;
    }, remedyOf);
    if (now !== 'somebody else was first') return now;
    console.error('somebody else has changed it meanwhile: trying again with what it is now');
  }
}

function find(id: bigint, signal: AbortSignal): Promise<Outcome<NewPlant, ChangeError>> {
  return parsed(client.GET('/plants/{id}', { params: { path: { id } }, parseAs: 'text', signal }));
}

function replace(id: bigint, body: Plant, etag: string, signal: AbortSignal): Promise<Outcome<NewPlant, ChangeError>> {
  const params = { path: { id }, header: { 'If-Match': etag } };
  return parsed(client.PUT('/plants/{id}', { params, body, parseAs: 'text', signal }));
}

async function remove(plant: NewPlant, etag: string, signal: AbortSignal): Promise<Outcome<NewPlant, ChangeError>> {
  const params = { path: { id: plant.id }, header: { 'If-Match': etag } };
  const { error, response } = await client.DELETE('/plants/{id}', { params, signal });
  return response.status === 204 ? { data: plant, response } : { ...(error && { error }), response };
}

const usage = 'usage: change-plant ID [--name=NAME] [--tag=TAG | --no-tag], or change-plant ID --delete';

function argumentsOf([id = '', ...args]: readonly string[]) {
  const options = {
    name: { type: 'string' },
    tag: { type: 'string' },
    'no-tag': { type: 'boolean', default: false },
    delete: { type: 'boolean', default: false },
  } as const;
  try {
    const { name, tag, 'no-tag': hasNoTag, delete: isDeleted } = parseArgs({ args, options }).values;
    const isChanged = name !== undefined || tag !== undefined || hasNoTag;
    if (/^-?\d+$/.test(id) && isChanged !== isDeleted && !(tag !== undefined && hasNoTag)) {
      return { id: BigInt(id), name, tag, hasNoTag, isDeleted };
    }
  } catch {
    // An option that there is not.
  }
  return stop(usage, 2);
}

const { id, name, tag, hasNoTag, isDeleted } = argumentsOf(process.argv.slice(2));
const client = connect();
await change(id, (plant) => {
  if (isDeleted) return undefined;
  const newTag = hasNoTag ? undefined : (tag ?? plant.tag);
  return { name: name ?? plant.name, ...(newTag !== undefined && { tag: newTag }) };
}).then(
  (plant) => console.log(exactJson(plant)),
  (error: Error) => stop(error.message),
);
