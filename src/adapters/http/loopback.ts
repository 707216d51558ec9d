/** Loopback addresses to listen at, hosts of URLs, and Host headers, which may have a port. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)(?::\d+)?$/i;

/** Whether a host is this machine itself. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
