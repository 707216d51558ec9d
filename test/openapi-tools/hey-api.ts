import { client } from './generated/hey-api/client.gen';
import * as plants from './generated/hey-api/sdk.gen';
import type { NewPlant } from './generated/hey-api/types.gen';
import type { Connect } from './plant-client.ts';

export const connect: Connect<NewPlant['id']> = (baseUrl, auth, fetch) => {
  client.setConfig({ baseUrl, auth, fetch });
  return {
    create: async (body) => (await plants.createPlant({ body })).data,
    find: async (id) => (await plants.findPlant({ path: { id } })).data,
    list: async (after) =>
      (await plants.listPlants({ query: { after, limit: 10, name: 'fic' } })).data?.map(({ id }) => id),
    change: async (id, body) => (await plants.changePlant({ path: { id }, body })).data?.name,
    remove: async (id) => (await plants.deletePlant({ path: { id } })).response?.status,
    changes: async () => (await plants.listChanges()).data?.changes,
    errorOf: async (id) => (await plants.findPlant({ path: { id } })).error?.error,
  };
};
