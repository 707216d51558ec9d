/** @import { Failed } from '../api.js' */
/** @import { PlantList } from '../table/plants.js' */
/** @import { View } from '../table/view.js' */
import { byId, latest, make, write } from '../dom.js';
import { errorOf } from '../errors.js';
import { queryOf } from '../table/view.js';
import { nodesOf } from '../texts.js';
import { currentToken } from '../token.js';

/**
 * In CSV: cells that spreadsheets alter. They keep 15 digits of a number, and take no zeros before it; 1/2 becomes a date, 1E5
 * a number, and what begins with a sign of formulas one of these.
 */
const ALTERED =
  /(?<=[,;\t\n]"?)(?:-?\d{16,}|0\d+|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?|\d+E\d+|(?:=|[+@-](?!\d))[^\n,;\t"]{1,30})(?=["\r,;\t])/g;
/** How many of them are shown. */
const SHOWN = 5;
/** Characters at the end of a chunk that may be the beginning of such a cell. */
const ALTERED_LENGTH = 40;

/** Where a comma is the decimal sign, spreadsheets take semicolons to separate cells. */
const separator = Intl.NumberFormat().format(0.5).includes(',') ? ';' : ',';

/** The dialog that saves the plants of the table's filter, also those that are not in the table yet. */
export function downloadDialog(
  /** @type {() => View} */ view,
  /** @type {PlantList} */ list,
  /** @type {Failed} */ failed,
) {
  const [dialog, form] = [byId('download', HTMLDialogElement), byId('download-form', HTMLFormElement)];
  const isForSpreadsheets = byId('download-csv', HTMLInputElement);
  const visits = latest();
  let signal = visits();
  let chosen = view();

  function clear() {
    for (const what of ['problem', 'progress', 'done', 'altered']) write(`download-${what}`);
  }

  /** Reads all of them before any is saved: a list that breaks off must not look like a whole one. */
  async function download(/** @type {AbortSignal} */ signal) {
    const [{ tag, name, untagged }, isCsv] = [chosen, isForSpreadsheets.checked];
    // What the page has found by itself, the service would not.
    const ids = !list.isLarge() && (name ?? untagged) ? new Set(list.rows().map(({ id }) => id)) : undefined;
    const query = queryOf({ tag, name: ids ? undefined : name, separator: isCsv ? separator : undefined });
    const type = isCsv ? 'text/csv' : 'application/x-ndjson';
    const headers = { Authorization: `Bearer ${currentToken()}`, Accept: type };
    const response = await fetch(`plants?${query}`, { headers, signal, redirect: 'manual' }).catch(() => undefined);
    const isList = response?.ok && response.headers.get('Content-Type')?.startsWith(type);
    if (!response || !isList) throw errorOf(response, await response?.json().catch(() => undefined));
    // Excel takes a list without a byte order mark for one in another encoding. Blobs are outside of the page's memory.
    const blobs = isCsv ? [new Blob(['\uFEFF'])] : [];
    const [reader, decoder] = [response.body?.getReader(), new TextDecoder()];
    const altered = /** @type {Set<string>} */ (new Set());
    const scan = (/** @type {string} */ text) => {
      for (const [cell] of isCsv && altered.size < SHOWN ? text.matchAll(ALTERED) : []) altered.add(cell);
    };
    let [octets, end] = [0, ''];
    for (;;) {
      const { done, value } = (await reader?.read().catch(() => undefined)) ?? {};
      if (done) break;
      if (value === undefined) throw new Error('The connection broke off, so nothing was saved. Download it again.');
      blobs.push(new Blob([value]));
      octets += value.length;
      write('download-progress', sizeOf(octets));
      const text = end + decoder.decode(value, { stream: true });
      if (!ids) scan(text);
      end = text.slice(-ALTERED_LENGTH);
    }
    const file = isCsv ? 'plants.csv' : 'plants.ndjson';
    const all = new Blob(blobs, { type });
    const records = ids && recordsWith(ids, await all.text(), isCsv);
    if (records) scan(records.join(''));
    save(records ? new Blob(records, { type }) : all, file);
    write('download-progress');
    write('download-done', `Saved as ${file}, ${sizeOf(octets)}.`);
    write('download-altered', [...altered].slice(0, SHOWN).join(', '));
  }

  form.onsubmit = async (event) => {
    event.preventDefault();
    const own = signal;
    clear();
    dialog.className = 'running';
    await download(own).catch((error) => own.aborted || failed(error, 'download-problem'));
    if (!own.aborted) dialog.className = '';
  };
  byId('download-list', HTMLElement).onclick = () => {
    chosen = view();
    const { tag, name, untagged } = chosen;
    const withTag = tag === undefined ? [] : [' with the tag ', ...nodesOf(tag)];
    const withName = name === undefined ? [] : [' that are found by ', ...nodesOf(name)];
    const limits = [...withTag, ...(untagged ? [' without a tag'] : []), ...withName];
    write('download-what', limits.length > 0 ? 'The plants' : 'All plants', ...limits);
    clear();
    signal = visits();
    dialog.className = '';
    dialog.showModal();
  };
  byId('download-close', HTMLElement).onclick = () => dialog.close();
  // The event is late: the dialog may be open again.
  dialog.onclose = () => dialog.open || visits();
}

/** The records of these plants, and the line that names the columns. */
function recordsWith(/** @type {Set<bigint>} */ ids, /** @type {string} */ list, /** @type {boolean} */ isCsv) {
  const records = list.match(isCsv ? /(?:"[^"]*"|[^"\n])*\n/g : /[^\n]*\n/g) ?? [];
  const idOf = isCsv ? /^(-?\d+)/ : /"id":(-?\d+)/;
  return records.filter((record) => !idOf.test(record) || ids.has(BigInt(idOf.exec(record)?.[1] ?? '')));
}

/** Has the browser save this, as it saves downloads. */
export function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const href = URL.createObjectURL(blob);
  make('a', { href, download: name }).click();
  // Some browsers ask where to before they read it.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

export const sizeOf = (/** @type {number} */ octets) =>
  octets < 1e6 ? `${Math.ceil(octets / 1e3)} kB` : `${(octets / 1e6).toFixed(1)} MB`;
