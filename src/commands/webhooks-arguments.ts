import { parseArgs } from 'node:util';
import { endpointName } from '../config/webhook-endpoints.ts';

export const USAGE = `Usage: npm run webhooks -- status | resume URL | skip URL | rewind URL

Shows and changes how the endpoints of webhooks are doing, in the database of DATABASE_URL, or in the embedded one in
DATA_DIR while the service does not run. Running instances go on within seconds.

  status       each endpoint, by its host and a digest of its URL: what waits for it, and what has failed
  resume URL   tries again now, also if the endpoint is parked
  skip URL     sets aside the plant that fails, as it is now, and goes on after it
  rewind URL   sends all plants again, from the first one on
  -h, --help   shows this

Exit codes: 0 done; 1 nothing was changed.`;

const CHANGES = ['resume', 'skip', 'rewind'] as const;

/** What to do, and to which endpoint. */
export type WebhooksArguments =
  | { readonly command: 'status' }
  | { readonly command: (typeof CHANGES)[number]; readonly endpoint: string };

/** Reads the command line. @throws Error, saying what is wrong with it */
export function webhooksArguments(args: readonly string[]): WebhooksArguments {
  const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true });
  const [name = 'status', url, ...more] = positionals;
  if (name === 'status' && url === undefined) return { command: 'status' };
  const command = CHANGES.find((one) => one === name);
  if (command === undefined) throw new Error('the command must be status, resume, skip or rewind');
  if (more.length > 0) throw new Error(`${command} takes one URL`);
  if (url === undefined || !URL.canParse(url)) throw new Error(`${command} needs the URL of the endpoint`);
  return { command, endpoint: endpointName(url) };
}
