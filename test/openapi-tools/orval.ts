import * as plants from './generated/orval.ts';
import type { Connect } from './plant-client.ts';

export const connect: Connect<plants.NewPlant['id']> = (url, token, fetch) => {
  const headers = { Authorization: `Bearer ${token}` };
  const options = [{ headers }, (path: RequestInfo | URL, init?: RequestInit) => fetch(`${url}${path}`, init)] as const;
  return {
    create: async (plant) => (await plants.createPlant(plant, ...options)).data,
    find: async (id) => (await plants.findPlant(id, ...options)).data,
    async list(after) {
      const { data, status } = await plants.listPlants({ after, limit: 10, name: 'fic' }, ...options);
      return status === 200 ? data.map(({ id }) => id) : undefined;
    },
    async change(id, plant) {
      const { data, status } = await plants.changePlant(id, plant, ...options);
      return status === 200 ? data.name : undefined;
    },
    remove: async (id) => (await plants.deletePlant(id, ...options)).status,
    async changes() {
      const { data, status } = await plants.listChanges({}, ...options);
      return status === 200 ? data.changes : undefined;
    },
    async errorOf(id) {
      const { data } = await plants.findPlant(id, ...options);
      return data && 'error' in data ? data.error : undefined;
    },
  };
};
