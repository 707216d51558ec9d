import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-fetch.ts';
import type { Connect } from './plant-client.ts';

export const connect: Connect<components['schemas']['NewPlant']['id']> = (baseUrl, token, fetch) => {
  const headers = { Authorization: `Bearer ${token}` };
  const { GET, POST, PUT, DELETE } = createClient<paths, 'application/json'>({ baseUrl, headers, fetch });
  const path = (id: components['schemas']['NewPlant']['id']) => ({ params: { path: { id } } });
  return {
    create: async (body) => (await POST('/plants', { body })).data,
    find: async (id) => (await GET('/plants/{id}', path(id))).data,
    list: async (after) =>
      (await GET('/plants', { params: { query: { after, limit: 10, name: 'fic' } } })).data?.map(({ id }) => id),
    change: async (id, body) => (await PUT('/plants/{id}', { ...path(id), body })).data?.name,
    remove: async (id) => (await DELETE('/plants/{id}', path(id))).response.status,
    changes: async () => (await GET('/changes', {})).data?.changes,
    errorOf: async (id) => (await GET('/plants/{id}', path(id))).error?.error,
  };
};
