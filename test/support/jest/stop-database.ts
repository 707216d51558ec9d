/** Jest's global tear-down. */
export default async function stopDatabase(): Promise<void> {
  await globalThis.stopTestServer?.();
}
