/* Lists as streams, in the chunks that a test wants. */

export async function* chunks(...parts: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}

/** All the items of batches. */
export const collected = async <Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> =>
  (await Array.fromAsync(batches)).flat() as Item[];
