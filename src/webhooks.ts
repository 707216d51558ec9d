import { type EndpointState, MOST_COUNTED } from './adapters/postgres/webhooks/webhook-endpoints.ts';
import { openOfflineStore, withDatabaseMessage } from './commands/offline-store.ts';
import { formatCount } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { USAGE, type WebhooksArguments, webhooksArguments } from './commands/webhooks-arguments.ts';
import { readDatabaseConfig } from './config/config.ts';
import { environment } from './config/environment.ts';

/* npm run webhooks: shows and changes how the endpoints of webhooks are doing (docs/webhooks.md). */

/** The exit code, beside that of a failure. */
const DONE = 0;

await runCommand('webhooks', USAGE, webhooksArguments, run);

/** @returns the exit code */
async function run(args: WebhooksArguments): Promise<number> {
  const store = await openOfflineStore(readDatabaseConfig(environment()));
  try {
    const states = await store.webhooks.states();
    console.log(args.command === 'status' ? described(states) : await change(args, states, store.webhooks));
    return DONE;
  } catch (error) {
    throw withDatabaseMessage(error, 'Run the same command again.');
  } finally {
    await store.close();
  }
}

type Change = Exclude<WebhooksArguments, { readonly command: 'status' }>;
type Webhooks = Awaited<ReturnType<typeof openOfflineStore>>['webhooks'];

/** @returns what was done. @throws Error, saying why it was not */
async function change({ command, endpoint }: Change, states: EndpointState[], webhooks: Webhooks): Promise<string> {
  const state = states.find((one) => one.endpoint === endpoint);
  if (state === undefined) {
    throw new Error(`${endpoint} is not known: it is once the service has started with its URL. See status`);
  }
  if (command === 'rewind') {
    await webhooks.rewind(endpoint);
    return `${endpoint}: all plants are sent again`;
  }
  if (command === 'resume') {
    if (await webhooks.resume(endpoint)) return `${endpoint}: goes on`;
    throw new Error(`${endpoint} cannot go on, since ${state.reason}`);
  }
  const { failing } = state;
  if (failing === undefined) throw new Error(`${endpoint} has nothing to skip: its last attempt did not fail`);
  if (!(await webhooks.skip(endpoint, failing))) {
    throw new Error(`${endpoint} has gone on meanwhile, and nothing was skipped. See status`);
  }
  return `${endpoint}: skipped the plant with the id ${failing.id} as transaction ${failing.changed} has left it`;
}

function described(states: EndpointState[]): string {
  return states.length === 0 ? 'no endpoints are known' : states.map(lineOf).join('\n');
}

function lineOf({ endpoint, behind, isParked, failures, reason, failing, retryIn }: EndpointState): string {
  const count = behind === MOST_COUNTED ? `${formatCount(behind)} changes or more` : `${formatCount(behind)} changes`;
  const where = failing === undefined ? '' : `, at the plant with the id ${failing.id}`;
  const failed = `after ${failures} failed ${failures === 1 ? 'attempt' : 'attempts'} (${reason}${where})`;
  if (isParked) return `${endpoint}: parked ${failures === 0 ? `(${reason})` : failed}; ${count} wait`;
  if (failures === 0) return `${endpoint}: delivers; ${count} wait`;
  return `${endpoint}: tries again in ${Math.ceil(retryIn)} s ${failed}; ${count} wait`;
}
