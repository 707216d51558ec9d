import { parseArgs } from 'node:util';
import { BACKLOG_ROWS_MAX, type KnownEndpoint, type WebhookEndpoints } from './application/maintenance.ts';
import { withStore } from './bootstrap/open-store.ts';
import { formatCount } from './cli/progress.ts';
import { runCommand } from './cli/run-command.ts';
import { endpointName } from './config/webhooks.ts';

/* npm run webhooks: shows and changes how the endpoints of webhooks are doing (docs/webhooks.md). */

const USAGE = `Usage: npm run webhooks -- status | resume URL | skip URL | rewind URL

Shows and changes how the endpoints of webhooks are doing, in the database of MIGRATION_DATABASE_URL, else of
DATABASE_URL, else in the embedded one in DATA_DIR. Running instances go on within 5 s, or 36 s if one delivers.

  status       each endpoint, by its host and a digest of its URL: what waits for it, and what has failed
  resume URL   tries again now, also if the endpoint is parked
  skip URL     sets aside the plant that fails, as it is now, and goes on after it
  rewind URL   sends all plants again, from the first one on

Exit codes: 0 done; 1 nothing was changed.`;

await runCommand('webhooks', USAGE, changeIn, run);

/** Reads the command line, without an endpoint for `status`. @throws Error, saying what is wrong with it */
function changeIn(args: string[]) {
  const { positionals } = parseArgs({ args, options: {}, allowPositionals: true });
  const [command = 'status', url, ...more] = positionals;
  if (!['status', 'resume', 'skip', 'rewind'].includes(command)) {
    throw new Error('the command must be status, resume, skip or rewind');
  }
  if (command === 'status' && url === undefined) return { command, endpoint: undefined };
  if (command === 'status') throw new Error('status takes no URL: it shows every endpoint');
  if (more.length > 0) throw new Error(`${command} takes one URL`);
  if (url === undefined || !URL.canParse(url)) throw new Error(`${command} needs the URL of the endpoint`);
  return { command, endpoint: endpointName(url) };
}

function run({ command, endpoint }: { command: string; endpoint: string | undefined }): Promise<void> {
  return withStore(async ({ webhooks, heldBack }) => {
    const states = await webhooks.states();
    const lines =
      endpoint === undefined ? described(states, await heldBack()) : await apply(command, endpoint, states, webhooks);
    console.log(lines);
  });
}

/** @returns what was done. @throws Error, saying why nothing was */
async function apply(
  command: string,
  endpoint: string,
  states: readonly KnownEndpoint[],
  webhooks: WebhookEndpoints,
): Promise<string> {
  const state = states.find((each) => each.endpoint === endpoint);
  if (state === undefined) {
    throw new Error(
      `${endpoint} is not in this database: start the service with its URL, or see npm run webhooks -- status`,
    );
  }
  if (command === 'rewind') {
    await webhooks.rewind(endpoint);
    return `${endpoint}: all plants are sent again`;
  }
  if (command === 'resume') {
    if (await webhooks.resume(endpoint)) return `${endpoint}: tries again now`;
    throw new Error(`${endpoint} cannot go on, since the table plants was replaced: rewind it, which sends all plants`);
  }
  const { failing } = state;
  if (failing === undefined) throw new Error(`${endpoint} has nothing to skip: its last attempt did not fail`);
  if (!(await webhooks.skip(endpoint, failing))) {
    throw new Error(`${endpoint} has gone on meanwhile, and nothing was skipped. See status`);
  }
  return `${endpoint}: skipped the plant with the id ${failing.id} as of change ${failing.changed}`;
}

function described(states: KnownEndpoint[], heldBack: string | undefined): string {
  const lines =
    states.length === 0
      ? ['no webhook has been set up in this database: the service enters those of WEBHOOK_URLS when it starts']
      : states.map(lineOf);
  return [...lines, heldBack ?? []].flat().join('\n');
}

function lineOf({ endpoint, backlog, isParked, isLeased, failures, reason, failing, retryIn }: KnownEndpoint): string {
  const backlogText = `changes waiting: ${formatCount(backlog)}${backlog === BACKLOG_ROWS_MAX ? ' or more' : ''}`;
  const where = failing === undefined ? '' : `, at the plant with the id ${failing.id}`;
  const attempts = `after ${failures} failed ${failures === 1 ? 'attempt' : 'attempts'} (${reason}${where})`;
  if (isParked) return `${endpoint}: parked ${failures === 0 ? `(${reason})` : attempts}; ${backlogText}`;
  if (failures === 0) return `${endpoint}: ${isLeased ? 'delivers' : 'no instance delivers to it now'}; ${backlogText}`;
  return `${endpoint}: tries again in ${Math.ceil(retryIn)} s ${attempts}; ${backlogText}`;
}
