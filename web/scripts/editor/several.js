/** @import { Change, Failed, Plant, Request, Row, Selection, TagChoices } from '../types.d.ts' */
import { send } from '../api.js';
import { byId, write } from '../dom.js';
import { rowOf } from '../table/plants.js';
import { numberOf, plantsOf } from '../texts.js';
import { saveByEnter, textField } from './text-field.js';

/** Plants that are changed at the same time. */
const AT_ONCE = 4;

/**
 * The dialog that deletes the selected plants, or gives them a tag.
 *
 * @param {Selection} selection
 * @param {TagChoices} choices
 * @param {{ apply(changes: Change[]): void, failed: Failed, announce(text: string): void }} events
 */
export function severalPlants(selection, choices, { apply, failed, announce }) {
  const [dialog, form] = [byId('several', HTMLDialogElement), byId('several-form', HTMLFormElement)];
  const [bar, refusals] = [byId('several-progress', HTMLProgressElement), byId('several-refused', HTMLTextAreaElement)];
  const tag = textField('several-tag', 200);
  const offerTags = choices.toClick(tag.choice('several-tags'));
  let rows = /** @type {readonly Row[]} */ ([]);
  let kind = /** @type {'deleting' | 'tagging'} */ ('deleting');
  let leaving = new AbortController();
  const trouble = (problem = '') => write('several-trouble', problem);

  function show(/** @type {'asking' | 'running' | 'finished'} */ state) {
    const title = `${kind === 'deleting' ? 'Delete' : 'Set the tag of'} ${plantsOf(rows.length)}`;
    write('several-title', `${title}${state === 'asking' ? '?' : ''}`);
    dialog.className = `${state} ${kind} ${refusals.value && 'has-refused'}`;
    dialog.setAttribute('closedby', state === 'running' ? 'none' : 'closerequest');
    if (!dialog.open) dialog.showModal();
    byId(state === 'running' ? 'several-stop' : 'several-close', HTMLElement).focus();
  }

  function ask(/** @type {'deleting' | 'tagging'} */ wanted) {
    [kind, rows] = [wanted, selection.rows()];
    for (const id of ['several-problem', 'several-trouble', 'several-sums']) write(id);
    refusals.value = '';
    tag.fill('');
    offerTags();
    show('asking');
    if (kind === 'tagging') tag.focus();
  }

  /** Changes a plant if it still is what its row shows. @returns {Promise<Change>} */
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
      return { id, deleted: true };
    }
    const texts = { name, tag: wanted };
    await send('PUT', path, { ...conditional, body: JSON.stringify(texts) });
    return { id, ...texts };
  }

  async function run(/** @type {string | undefined} */ wanted) {
    leaving = new AbortController();
    const { signal } = leaving;
    let [done, refused] = [0, 0];
    const report = () => {
      bar.value = (done + refused) / rows.length;
      const what = `${numberOf(done)} of ${plantsOf(rows.length)} ${kind === 'deleting' ? 'deleted' : 'changed'}`;
      write('several-sums', `${what}${refused > 0 ? `, ${numberOf(refused)} refused` : ''}.`);
      return what;
    };
    const queue = rows.values();
    async function work() {
      for (const row of queue) {
        try {
          const outcome = await change(row, wanted, { signal, trouble });
          done++;
          selection.remove(row.id);
          apply([outcome]);
        } catch (error) {
          if (signal.aborted || !(error instanceof Error)) return;
          // A token that may not change one plant may change none.
          if (error.cause === 40300) throw error;
          refused++;
          refusals.value += `${row.id}: ${error.message}\n`;
        }
        report();
      }
    }
    show('running');
    report();
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, work));
    } catch (error) {
      leaving.abort();
      failed(error, 'several-problem');
    }
    const what = report();
    announce(what);
    if (done === rows.length) dialog.close();
    else show('finished');
  }

  form.onsubmit = (event) => {
    event.preventDefault();
    const isRemoval = event.submitter?.id === 'several-remove';
    if (dialog.matches('.asking')) void run(isRemoval ? undefined : tag.text());
  };
  saveByEnter(form);
  byId('several-stop', HTMLElement).onclick = () => leaving.abort();
  byId('several-close', HTMLElement).onclick = () => dialog.close();
  // The button that opened it goes with the selection.
  dialog.onclose = () => byId('plants', HTMLElement).focus();
  byId('delete-selected', HTMLElement).onclick = () => ask('deleting');
  byId('tag-selected', HTMLElement).onclick = () => ask('tagging');
  addEventListener('beforeunload', (event) => dialog.matches('.running[open]') && event.preventDefault());
}

const textsOf = (/** @type {Row} */ { name, tag }) => JSON.stringify([name, tag]);
