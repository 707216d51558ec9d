/* The fetch client takes a function in place of fetch only if it is generated for that. */
export default {
  plants: {
    input: 'openapi.json',
    output: { target: 'generated/orval.ts', client: 'fetch', override: { fetch: { useRuntimeFetcher: true } } },
  },
};
