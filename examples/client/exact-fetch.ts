import { exactJson, parseExactly } from './exact-json.ts';

/**
 * fetch for generated clients: an id is a string in what they send and get, and an integer in the JSON of the service, so
 * that none becomes a number, which would lose digits. string-ids.ts makes the document that they are generated from.
 */
export async function exactFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const isJson = request.body && request.headers.get('Content-Type') === 'application/json';
  const response = await fetch(request, isJson ? { body: integerIds(await request.text()) } : {});
  if (response.headers.get('Content-Type') !== 'application/json') return response;
  return new Response(stringIds(await response.text()), response);
}

/** Any other string stays one, which the service refuses. */
function integerIds(json: string): string {
  const isId = (key: string, value: unknown) => key === 'id' && typeof value === 'string' && /^-?\d+$/.test(value);
  return exactJson(JSON.parse(json, (key, value) => (isId(key, value) ? BigInt(value as string) : value)));
}

function stringIds(json: string): string {
  return JSON.stringify(parseExactly(json), (_key, value) => (typeof value === 'bigint' ? `${value}` : value));
}
