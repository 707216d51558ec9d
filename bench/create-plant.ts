import { TOKEN } from '../tooling/server-process.ts';

interface Plant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

/** Creates a plant. @throws Error, with the response, if that is not a 200 */
export async function createPlant({ url }: { readonly url: string }, plant: Plant): Promise<void> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${url}/plants`, { method: 'POST', headers, body: JSON.stringify(plant) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`a create got ${response.status}: ${text}`);
}
