/** The last of these URLs with the hosts of all of them, for a service that uses the one that takes writes. */
export function severalHosts(...urls: readonly string[]): string {
  const hosts = urls.map((url) => new URL(url).host);
  const last = urls.at(-1) ?? '';
  return `${last.replace(/(?<=[/@])[^/@]+(?=\/[^/]*$)/, hosts.join())}?target_session_attrs=read-write`;
}
