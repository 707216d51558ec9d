/** @import { Plant, Request } from '../api.js' */
import { send } from '../api.js';
import { byId, onClick, write } from '../dom.js';
import * as selection from '../table/selection.js';
import { offerTags } from '../tag-choices.js';
import { numberOf, plantsOf } from '../texts.js';
import { workDialog } from '../work-dialog.js';
import { saveByEnter, textField } from './text-field.js';
import { remove, say, store } from './undo.js';

/* The dialog that deletes the selected plants, gives them a tag, or puts back what they were. */

/** A plant as it is shown, or as it was before a change that gave it this ETag. @typedef {Plant & { etag?: string }} Target */

/** Plants that are changed at the same time. */
const REQUESTS_MAX = 4;

/** What is done with the plants, as a question or a title, and once it is done. */
const WORDS = {
  deleting: ['Delete', 'deleted'],
  tagging: ['Set the tag of', 'changed'],
  restoring: ['Put back', 'put back'],
};

const { attempt, dialog, bar, show: showDialog } = workDialog('several');
const form = byId('several-form', HTMLFormElement);
const tagField = textField('several-tag', 200);
let rows = /** @type {readonly Target[]} */ ([]);
let kind = /** @type {keyof typeof WORDS} */ ('deleting');

function show(/** @type {'asking' | 'running' | 'finished'} */ state, /** @type {number} */ count) {
  write('several-title', `${WORDS[kind][0]} ${plantsOf(count)}${state === 'asking' ? '?' : ''}`);
  showDialog(state, kind);
}

const ask = (/** @type {'deleting' | 'tagging'} */ work) =>
  attempt(async () => {
    kind = work;
    for (const what of ['sums', 'refused']) write(`several-${what}`);
    rows = selection.rows();
    tagField.fill(undefined);
    const { size } = new Set(rows.flatMap(({ tag }) => tag ?? []));
    const tags = size === 1 ? 'one tag' : `${numberOf(size)} different tags`;
    write('several-replaced', size > 0 ? `This replaces ${tags}.` : '');
    show('asking', rows.length);
    if (kind === 'tagging') tagField.focus();
  });

/** Changes a plant that nobody else has changed. @returns {Promise<Target | undefined>} what can be put back */
async function change(
  /** @type {Target} */ row,
  /** @type {string | undefined} */ tag,
  /** @type {Request} */ request,
) {
  if (kind === 'restoring') return void (await store(row, { ...request, ifMatch: row.etag }));
  const { body, headers } = await send('GET', `plants/${row.id}`, request);
  const plant = /** @type {Plant} */ (body);
  const isSame = plant.name === row.name && plant.tag === row.tag;
  if (!isSame) throw new Error('Somebody else has changed this plant.');
  const conditional = { ...request, ifMatch: headers.get('ETag') ?? '' };
  if (kind === 'deleting') return void (await remove(plant.id, conditional));
  return { ...plant, etag: await store({ ...plant, tag }, conditional) };
}

/** Changes each, and says what became of all. */
async function run(/** @type {readonly Target[]} */ targets, /** @type {string=} */ tag = undefined) {
  let [doneCount, refusedCount] = [0, 0];
  const formerPlants = /** @type {Target[]} */ ([]);
  const sum = () => {
    bar.value = (doneCount + refusedCount) / targets.length;
    const words = `${numberOf(doneCount)} of ${plantsOf(targets.length)} ${WORDS[kind][1]}`;
    write('several-sums', `${words}${refusedCount > 0 ? `, ${numberOf(refusedCount)} refused` : ''}.`);
    return words;
  };
  const queue = targets.values();
  async function drain(/** @type {Request & { signal: AbortSignal }} */ request) {
    for (const target of queue) {
      try {
        const before = await change(target, tag, request);
        doneCount++;
        selection.remove(target.id);
        if (before) formerPlants.push(before);
      } catch (error) {
        if (request.signal.aborted || !(error instanceof Error)) return;
        // A token that may not change one plant may change none.
        if (error.cause === 40300) throw error;
        refusedCount++;
        byId('several-refused', HTMLElement).append(`${target.id}: ${error.message}\n`);
      }
      sum();
    }
  }
  // One is done before anybody sees a dialog.
  if (targets.length > 1 || dialog.open) show('running', targets.length);
  write('several-refused');
  sum();
  await attempt(async (request) => {
    await Promise.all(Array.from({ length: REQUESTS_MAX }, () => drain(request)));
  });
  offerBack([sum()], formerPlants);
  if (doneCount === targets.length) dialog.close();
  else show('finished', targets.length);
}

form.onsubmit = (event) => {
  event.preventDefault();
  const tag = event.submitter?.id === 'several-remove' ? undefined : tagField.text();
  if (dialog.matches('.asking')) void run(rows, tag);
};
saveByEnter(form);
offerTags(byId('several-tag', HTMLTextAreaElement));
// The button that opened it goes with the selection.
dialog.onclose = () => byId('plants', HTMLElement).focus();
onClick('delete-selected', () => ask('deleting'));
onClick('tag-selected', () => ask('tagging'));

/** Says what was done, and offers to put back what was changed, unless somebody else has changed it since. */
export function offerBack(/** @type {(Node | string)[]} */ words, /** @type {readonly Target[]} */ formerPlants) {
  const restore = () => {
    kind = 'restoring';
    void run(formerPlants);
  };
  say(words, formerPlants.length > 0 ? restore : undefined);
}
