import { setTimeout } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { components, operations, paths } from './plant-store.ts';

/*
 * Creates a plant, with types made of the service's own OpenAPI document (generate.ts):
 *
 *   export PLANT_STORE_URL=http://127.0.0.1:3000 ACCESS_TOKEN=...
 *   node create-plant.ts 9223372036854775807 'Pinus longaeva' conifer
 */

type NewPlant = components['schemas']['NewPlant'];
type Plant = components['schemas']['Plant'];
type Responses = operations['createPlant']['responses'];
/** One type for each error number: `error` tells them apart. */
type CreatePlantError = Responses[Exclude<keyof Responses, 200>]['content']['application/json'];

type Remedy =
  | 'send it again'
  | 'give it another id'
  | 'mend the plant'
  | 'get a token'
  | 'mend this program'
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
      return 'mend the plant';
    case 40100:
    case 40101:
      return 'get a token';
    case 40000:
    case 40001:
    case 40015:
    case 40400:
    case 40500:
    case 41700:
    case 43100:
      return 'mend this program';
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
  baseUrl: process.env.PLANT_STORE_URL ?? 'http://127.0.0.1:3000',
  headers: { Authorization: `Bearer ${process.env.ACCESS_TOKEN}` },
  bodySerializer: exactJson,
});

/** @throws Error that says what is wrong and what to do about it; up to then it has tried 5 times if that can help */
async function createPlant(plant: NewPlant): Promise<Plant> {
  for (let attempt = 1; ; attempt++) {
    const { data, error, response } = await client.POST('/plants', { body: plant });
    if (data !== undefined) return data;
    const remedy = remedyOf(error);
    if (remedy !== 'send it again' || attempt === 5) {
      throw new Error(`${error.error}: ${error.message} (${remedy}; request ${response.headers.get('X-Request-Id')})`);
    }
    await setTimeout(Number(response.headers.get('Retry-After') ?? 1) * 1000);
  }
}

const [id = '', name = '', tag] = process.argv.slice(2);
try {
  console.log(JSON.stringify(await createPlant({ id: BigInt(id), name, ...(tag !== undefined && { tag }) })));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
