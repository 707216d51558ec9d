/** @import { Change, Failed, Plant, Request } from '../api.js' */
/** @import { Selection } from '../table/selection.js' */
/** @import { Row } from '../table/view.js' */
/** @import { TagChoices } from '../tag-choices.js' */
import { put, send } from '../api.js';
import { byId, latest, onClick, write } from '../dom.js';
import { rowOf } from '../table/loaded-plants.js';
import { numberOf, plantsOf } from '../texts.js';
import { saveByEnter, textField } from './text-field.js';

/** A plant as it was, and the ETag that it has since it was changed. @typedef {{ id: bigint, name: string, tag?: string | undefined, etag: string }} Former */
/** @typedef {'deleting' | 'tagging' | 'restoring'} Kind */
/** @typedef {{ change: Change, former?: Former }} Outcome */

/** Plants that are changed at the same time. */
const AT_ONCE = 4;

const WORDS = {
  deleting: ['Delete', 'deleted'],
  tagging: ['Set the tag of', 'changed'],
  restoring: ['Put back', 'put back'],
};

/**
 * The dialog that deletes the selected plants, gives them a tag, or puts back what they were.
 *
 * @param {Selection} selection
 * @param {TagChoices} choices
 * @param {{ apply(changes: Change[]): void, failed: Failed, done(words: string, former: Former[]): void }} events
 */
export function severalPlants(selection, choices, { apply, failed, done: report }) {
  const [dialog, form] = [byId('several', HTMLDialogElement), byId('several-form', HTMLFormElement)];
  const [bar, refusals] = [byId('several-progress', HTMLProgressElement), byId('several-refused', HTMLTextAreaElement)];
  const tag = textField('several-tag', 200);
  const offerTags = choices.offer(tag.choice('several-tags'));
  let [rows, kind] = [/** @type {readonly Row[]} */ ([]), /** @type {Kind} */ ('deleting')];
  const runs = latest();

  function show(/** @type {'asking' | 'running' | 'finished'} */ state, /** @type {number} */ count) {
    write('several-title', `${WORDS[kind][0]} ${plantsOf(count)}${state === 'asking' ? '?' : ''}`);
    dialog.className = `${state} ${kind} ${refusals.value && 'has-refused'}`;
    dialog.setAttribute('closedby', state === 'running' ? 'none' : 'closerequest');
    if (!dialog.open) dialog.showModal();
    byId(state === 'running' ? 'several-stop' : 'several-close', HTMLElement).focus();
  }

  function ask(/** @type {Kind} */ wanted) {
    [kind, rows] = [wanted, selection.rows()];
    clear();
    tag.fill('');
    offerTags();
    const { size } = new Set(rows.filter(({ tag }) => tag !== undefined).map(({ tag }) => JSON.stringify(tag)));
    const what = size === 1 ? 'one tag' : `${numberOf(size)} different tags`;
    write('several-replaced', size > 0 ? `This replaces ${what}.` : '');
    show('asking', rows.length);
    if (kind === 'tagging') tag.focus();
  }

  function clear() {
    for (const id of ['several-problem', 'several-trouble', 'several-sums']) write(id);
    refusals.value = '';
  }

  /** Changes a plant if it still is what its row shows. @returns {Promise<Outcome>} */
  async function change(
    /** @type {Row} */ row,
    /** @type {string | undefined} */ wanted,
    /** @type {Request} */ request,
  ) {
    const path = `plants/${row.id}`;
    const { body, headers } = await send('GET', path, request);
    const { id, name, tag: former } = /** @type {Plant} */ (body);
    const isSame = textsOf(rowOf({ id, name, tag: former })) === textsOf(row);
    if (!isSame) throw new Error('Somebody else has changed this plant.', { cause: 41200 });
    const conditional = { ...request, ifMatch: headers.get('ETag') ?? '' };
    if (kind === 'deleting') {
      await send('DELETE', path, conditional);
      return { change: { id, deleted: true } };
    }
    const etag = await put({ id, name, tag: wanted }, conditional);
    return { change: { id, name, tag: wanted }, former: { id, name, tag: former, etag } };
  }

  /**
   * Does the work on each, and says what became of all.
   *
   * @template {{ id: bigint }} Item
   * @param {readonly Item[]} all
   * @param {(item: Item, request: Request) => Promise<Outcome>} work
   */
  async function run(all, work) {
    const signal = runs();
    let [done, refused] = [0, 0];
    const former = /** @type {Former[]} */ ([]);
    const sum = () => {
      bar.value = (done + refused) / all.length;
      const what = `${numberOf(done)} of ${plantsOf(all.length)} ${WORDS[kind][1]}`;
      write('several-sums', `${what}${refused > 0 ? `, ${numberOf(refused)} refused` : ''}.`);
      return what;
    };
    const queue = all.values();
    async function next() {
      for (const item of queue) {
        try {
          const { change, former: own } = await work(item, {
            signal,
            trouble: (problem = '') => write('several-trouble', problem),
          });
          done++;
          selection.remove(item.id);
          if (own) former.push(own);
          apply([change]);
        } catch (error) {
          if (signal.aborted || !(error instanceof Error)) return;
          // A token that may not change one plant may change none.
          if (error.cause === 40300) throw error;
          refused++;
          refusals.value += `${item.id}: ${error.message}\n`;
        }
        sum();
      }
    }
    // One is done before anybody sees a dialog.
    if (all.length > 1 || dialog.open) show('running', all.length);
    sum();
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    } catch (error) {
      runs();
      failed(error, 'several-problem');
    }
    report(sum(), former);
    if (done === all.length) dialog.close();
    else show('finished', all.length);
  }

  form.onsubmit = (event) => {
    event.preventDefault();
    const wanted = event.submitter?.id === 'several-remove' ? undefined : tag.text();
    if (dialog.matches('.asking')) void run(rows, (row, request) => change(row, wanted, request));
  };
  saveByEnter(form);
  onClick('several-stop', runs);
  onClick('several-close', () => dialog.close());
  // The button that opened it goes with the selection.
  dialog.onclose = () => byId('plants', HTMLElement).focus();
  onClick('delete-selected', () => ask('deleting'));
  onClick('tag-selected', () => ask('tagging'));
  addEventListener('beforeunload', (event) => dialog.matches('.running[open]') && event.preventDefault());

  return {
    /** Puts plants back that nobody else has changed since. */
    restore(/** @type {readonly Former[]} */ all) {
      kind = 'restoring';
      clear();
      void run(all, async ({ etag, ...plant }, request) => {
        await put(plant, { ...request, ifMatch: etag });
        return { change: plant };
      });
    },
  };
}

const textsOf = (/** @type {Row} */ { name, tag }) => JSON.stringify([name, tag]);
