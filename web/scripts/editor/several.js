/** @import { Change, Plant, Request } from '../api.js' */
/** @import { Row } from '../table/view.js' */
import { put, send } from '../api.js';
import { byId, onClick, write } from '../dom.js';
import { failed } from '../errors.js';
import { apply } from '../table/plants.js';
import * as selection from '../table/selection.js';
import { offerTags } from '../tag-choices.js';
import { numberOf, plantsOf } from '../texts.js';
import { workDialog } from '../work-dialog.js';
import { saveByEnter, textField } from './text-field.js';
import { say } from './undo.js';

/* The dialog that deletes the selected plants, gives them a tag, or puts back what they were. */

/** A plant as it was, and the ETag that it has since it was changed. @typedef {{ id: bigint, name: string, tag?: string | undefined, etag: string }} Former */
/** @typedef {{ change: Change, former?: Former }} Outcome */

/** Plants that are changed at the same time. */
const AT_ONCE = 4;

/** What is done with the plants, as a question or a title, and once it is done. */
const WORDS = {
  deleting: ['Delete', 'deleted'],
  tagging: ['Set the tag of', 'changed'],
  restoring: ['Put back', 'put back'],
};

const job = workDialog('several');
const { dialog, bar } = job;
const form = byId('several-form', HTMLFormElement);
const tagField = textField('several-tag', 200);
const drawTags = offerTags('several-tags', byId('several-tag', HTMLTextAreaElement));
let rows = /** @type {readonly Row[]} */ ([]);
let kind = /** @type {keyof typeof WORDS} */ ('deleting');

function show(/** @type {'asking' | 'running' | 'finished'} */ state, /** @type {number} */ count) {
  write('several-title', `${WORDS[kind][0]} ${plantsOf(count)}${state === 'asking' ? '?' : ''}`);
  job.show(state, kind);
}

function begin(/** @type {keyof typeof WORDS} */ work) {
  kind = work;
  job.begin();
  write('several-sums');
  write('several-refused');
}

function ask(/** @type {'deleting' | 'tagging'} */ work) {
  begin(work);
  rows = selection.rows();
  tagField.fill(undefined);
  drawTags();
  const { size } = new Set(rows.flatMap(({ tag }) => tag ?? []));
  const tags = size === 1 ? 'one tag' : `${numberOf(size)} different tags`;
  write('several-replaced', size > 0 ? `This replaces ${tags}.` : '');
  show('asking', rows.length);
  if (kind === 'tagging') tagField.focus();
}

/** Changes a plant if it still is what its row shows. @returns {Promise<Outcome>} */
async function change(/** @type {Row} */ row, /** @type {string | undefined} */ tag, /** @type {Request} */ request) {
  const path = `plants/${row.id}`;
  const { body, headers } = await send('GET', path, request);
  const plant = /** @type {Plant} */ (body);
  const isSame = plant.name === row.name && plant.tag === row.tag;
  if (!isSame) throw new Error('Somebody else has changed this plant.');
  const conditional = { ...request, ifMatch: headers.get('ETag') ?? '' };
  if (kind === 'deleting') {
    await send('DELETE', path, conditional);
    return { change: { id: plant.id, deleted: true } };
  }
  const changed = { ...plant, tag };
  return { change: changed, former: { ...plant, etag: await put(changed, conditional) } };
}

/**
 * Does the work on each, and says what became of all.
 *
 * @template {{ id: bigint }} Item
 * @param {readonly Item[]} items
 * @param {(item: Item, request: Request) => Promise<Outcome>} work
 */
async function run(items, work) {
  const request = job.begin();
  let [done, refused] = [0, 0];
  const former = /** @type {Former[]} */ ([]);
  const sum = () => {
    bar.value = (done + refused) / items.length;
    const words = `${numberOf(done)} of ${plantsOf(items.length)} ${WORDS[kind][1]}`;
    write('several-sums', `${words}${refused > 0 ? `, ${numberOf(refused)} refused` : ''}.`);
    return words;
  };
  const queue = items.values();
  async function drain() {
    for (const item of queue) {
      try {
        const outcome = await work(item, request);
        done++;
        selection.remove(item.id);
        former.push(...(outcome.former ? [outcome.former] : []));
        apply([outcome.change]);
      } catch (error) {
        if (request.signal.aborted || !(error instanceof Error)) return;
        // A token that may not change one plant may change none.
        if (error.cause === 40300) throw error;
        refused++;
        byId('several-refused', HTMLElement).append(`${item.id}: ${error.message}\n`);
      }
      sum();
    }
  }
  // One is done before anybody sees a dialog.
  if (items.length > 1 || dialog.open) show('running', items.length);
  sum();
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, drain));
  } catch (error) {
    job.stop();
    failed(error, 'several-problem');
  }
  offerBack([sum()], former);
  if (done === items.length) dialog.close();
  else show('finished', items.length);
}

form.onsubmit = (event) => {
  event.preventDefault();
  const tag = event.submitter?.id === 'several-remove' ? undefined : tagField.text();
  if (dialog.matches('.asking')) void run(rows, (row, request) => change(row, tag, request));
};
saveByEnter(form);
// The button that opened it goes with the selection.
dialog.onclose = () => byId('plants', HTMLElement).focus();
onClick('delete-selected', () => ask('deleting'));
onClick('tag-selected', () => ask('tagging'));

/** Says what was done, and offers to put back what was changed, unless somebody else has changed it since. */
export function offerBack(/** @type {(Node | string)[]} */ words, /** @type {readonly Former[]} */ former) {
  say(words, former.length > 0 ? () => restore(former) : undefined);
}

/** Puts plants back that nobody else has changed since. */
function restore(/** @type {readonly Former[]} */ former) {
  begin('restoring');
  void run(former, async ({ etag, ...plant }, request) => {
    await put(plant, { ...request, ifMatch: etag });
    return { change: plant };
  });
}
