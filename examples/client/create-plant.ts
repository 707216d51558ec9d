import { setTimeout } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { components, operations, paths } from './plant-store.ts';

/*
 * Creates a plant, with types made of the service's own OpenAPI document (generate.ts):
 *
 *   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
 *   npm run --silent create-plant -w examples/client -- 9223372036854775807 'Pinus longaeva' conifer
 */

const { PLANT_STORE_URL: url = 'http://127.0.0.1:3000', ACCESS_TOKEN: token = '' } = process.env;
const [id = '', name, tag, ...more] = process.argv.slice(2);
if (!/^-?\d+$/.test(id) || name === undefined || more.length > 0) stop('usage: create-plant ID NAME [TAG]', 2);
if (!/^[\w.~+/-]+=*$/.test(token)) {
  stop('ACCESS_TOKEN must be a token of the service; one that the service made itself is in data/access-token');
}

function stop(message: string, code = 1): never {
  console.error(message);
  process.exit(code);
}

type NewPlant = components['schemas']['NewPlant'];
type Plant = components['schemas']['Plant'];
type Responses = operations['createPlant']['responses'];
/** One type for each error number: `error` tells them apart. */
type CreatePlantError = Responses[Exclude<keyof Responses, 200>]['content']['application/json'];

type Remedy =
  | 'send it again'
  | 'give it another id'
  | 'fix the plant'
  | 'get a token'
  | 'fix this program'
  | 'report it';

/** A number that is forgotten here does not compile, nor does one that the service does not know. */
function remedyOf({ error }: CreatePlantError): Remedy {
  switch (error) {
    case 40800:
    case 50300:
      return 'send it again';
    case 40009:
      return 'give it another id';
    case 40013:
    case 40022:
      return 'fix the plant';
    case 40100:
    case 40101:
    case 40300:
      return 'get a token';
    case 40000:
    case 40001:
    case 40015:
    case 41700:
    case 43100:
      return 'fix this program';
    case 50000:
      return 'report it';
  }
}

declare global {
  interface JSON {
    /** TC39 proposal-json-parse-with-source; in Node.js since 21, but not in TypeScript's types yet. */
    rawJSON(text: string): unknown;
  }
}

/** JSON.stringify refuses a bigint, and as a number it would lose digits. */
function exactJson(body: unknown): string {
  return JSON.stringify(body, (_key, value) => (typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value));
}

const client = createClient<paths>({
  baseUrl: url,
  headers: { Authorization: `Bearer ${token}` },
  bodySerializer: exactJson,
});

/** @throws Error that says what is wrong and what to do about it; up to then it has tried 5 times if that can help */
async function createPlant(plant: NewPlant): Promise<Plant> {
  for (let attempt = 1; ; attempt++) {
    const { data, error, response } = await client
      .POST('/plants', { body: plant, signal: AbortSignal.timeout(60_000) })
      .catch(unreachable);
    if (data !== undefined) return data;
    // What stands in front of the service has errors of its own.
    const remedy = error?.error && remedyOf(error);
    if (!remedy) throw new Error(`${url} does not respond as Plant Store does: is that its address?`);
    if (remedy !== 'send it again' || attempt === 5) {
      throw new Error(`${error.error}: ${error.message} (${remedy}; request ${response.headers.get('X-Request-Id')})`);
    }
    await setTimeout(Number(response.headers.get('Retry-After') ?? 1) * 1000);
  }
}

/** fetch keeps the reason in the cause, which has no message if several addresses were tried. */
function unreachable(failure: Error): never {
  const { message, code } = (failure.cause ?? failure) as NodeJS.ErrnoException;
  throw new Error(`cannot reach ${url} (${message || code}): is the service running there?`);
}

await createPlant({ id: BigInt(id), name, ...(tag !== undefined && { tag }) }).then(
  (plant) => console.log(JSON.stringify(plant)),
  (error: Error) => stop(error.message),
);
