import type { components, operations } from './plant-store.ts';
import { connect, send, stop } from './service.ts';

/*
 * Creates a plant, with types made of the service's own OpenAPI document (generate.ts):
 *
 *   export PLANT_STORE_URL=http://127.0.0.1:3000 PLANT_STORE_TOKEN=...
 *   npm run --silent create-plant -w examples/client -- 9223372036854775807 'Pinus longaeva' conifer
 */

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
    case 40010:
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

/** @throws Error that says what is wrong and what to do about it */
async function createPlant(plant: NewPlant): Promise<Plant> {
  const { data } = await send((signal) => client.POST('/plants', { body: plant, signal }), remedyOf);
  return data;
}

const [id = '', name, tag, ...more] = process.argv.slice(2);
if (!/^-?\d+$/.test(id) || name === undefined || more.length > 0) stop('usage: create-plant ID NAME [TAG]', 2);
const client = connect();
await createPlant({ id: BigInt(id), name, ...(tag !== undefined && { tag }) }).then(
  (plant) => console.log(JSON.stringify(plant)),
  (error: Error) => stop(error.message),
);
