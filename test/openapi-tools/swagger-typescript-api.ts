import { Api, type HttpResponse, type NewPlant } from './generated/swagger-typescript-api.ts';
import type { Connect } from './plant-client.ts';

export const connect: Connect<NewPlant['id']> = (baseUrl, token, customFetch) => {
  const baseApiParams = { headers: { Authorization: `Bearer ${token}` } };
  const { plants, changes } = new Api({ baseUrl, customFetch, baseApiParams });
  return {
    create: async (plant) => (await plants.createPlant(plant)).data,
    find: async (id) => (await plants.findPlant(id)).data,
    list: async (after) => (await plants.listPlants({ after, limit: 10, name: 'fic' })).data.map(({ id }) => id),
    change: async (id, plant) => (await plants.changePlant(id, plant)).data.name,
    remove: async (id) => (await plants.deletePlant(id)).status,
    changes: async () => (await changes.listChanges()).data.changes,
    errorOf: (id) =>
      plants.findPlant(id).then(
        () => undefined,
        ({ error }: HttpResponse<unknown, { error: number }>) => error.error,
      ),
  };
};
