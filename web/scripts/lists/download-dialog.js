/** @import { Failed, View } from '../types.d.ts' */
import { byId, make, write } from '../dom.js';
import { errorOf } from '../errors.js';
import { cut, nodesOf } from '../texts.js';
import { currentToken } from '../token.js';

/** In CSV: an id that spreadsheets round, since they keep 15 digits of a number. */
const LONG_ID = /\n-?\d{16,}[,;\t]/;
/** Characters at the end of a chunk that may be the beginning of a long id: a line feed, a sign and 19 digits. */
const LONG_ID_LENGTH = 21;

/** Where a comma is the decimal sign, spreadsheets take semicolons to separate cells. */
const separator = Intl.NumberFormat().format(0.5).includes(',') ? ';' : ',';

/** The dialog that saves the plants of the table's filter, also those that are not in the table yet. */
export function downloadDialog(/** @type {() => View} */ view, /** @type {Failed} */ failed) {
  const [dialog, form] = [byId('download', HTMLDialogElement), byId('download-form', HTMLFormElement)];
  const isForSpreadsheets = byId('download-csv', HTMLInputElement);
  let leaving = new AbortController();
  let wanted = view();

  /** Reads all of them before any is saved: a list that breaks off must not look like a whole one. */
  async function download(/** @type {AbortSignal} */ signal) {
    const [{ tag, name }, isCsv] = [wanted, isForSpreadsheets.checked];
    const limits = { ...(tag !== undefined && { tag }), ...(name !== undefined && { name }) };
    const query = new URLSearchParams({ ...limits, ...(isCsv && { separator }) });
    const type = isCsv ? 'text/csv' : 'application/x-ndjson';
    const headers = { Authorization: `Bearer ${currentToken()}`, Accept: type };
    const response = await fetch(`plants?${query}`, { headers, signal, redirect: 'manual' }).catch(() => undefined);
    const isList = response?.ok && response.headers.get('Content-Type')?.startsWith(type);
    if (!response || !isList) throw errorOf(response, await response?.json().catch(() => undefined));
    // Excel takes a list without a byte order mark for one in another encoding. Blobs are outside of the page's memory.
    const blobs = isCsv ? [new Blob(['\uFEFF'])] : [];
    const [reader, decoder] = [response.body?.getReader(), new TextDecoder()];
    let [octets, end, hasLongIds] = [0, '', false];
    for (;;) {
      const { done, value } = (await reader?.read().catch(() => undefined)) ?? {};
      if (done) break;
      if (value === undefined) throw new Error('The connection broke off, so nothing was saved. Download it again.');
      blobs.push(new Blob([value]));
      octets += value.length;
      write('download-progress', sizeOf(octets));
      const text = end + decoder.decode(value, { stream: true });
      hasLongIds ||= isCsv && LONG_ID.test(text);
      end = text.slice(-LONG_ID_LENGTH);
    }
    const file = isCsv ? 'plants.csv' : 'plants.ndjson';
    save(new Blob(blobs, { type }), file);
    write('download-progress');
    write('download-done', `Saved as ${file}, ${sizeOf(octets)}.`);
    form.classList.toggle('long-ids', hasLongIds);
  }

  form.onsubmit = async (event) => {
    event.preventDefault();
    const { signal } = leaving;
    for (const id of ['download-problem', 'download-done']) write(id);
    dialog.className = 'running';
    await download(signal).catch((error) => signal.aborted || failed(error, 'download-problem'));
    if (!signal.aborted) dialog.className = '';
  };
  byId('download-list', HTMLElement).onclick = () => {
    wanted = view();
    const { tag, name } = wanted;
    const withTag = tag === undefined ? [] : [' with the tag ', ...nodesOf(cut(tag))];
    const withName = name === undefined ? [] : [' whose names contain ', ...nodesOf(cut(name))];
    write('download-what', withTag.length + withName.length > 0 ? 'The plants' : 'All plants', ...withTag, ...withName);
    for (const id of ['download-problem', 'download-progress', 'download-done']) write(id);
    leaving.abort();
    leaving = new AbortController();
    dialog.className = '';
    form.classList.remove('long-ids');
    dialog.showModal();
  };
  byId('download-close', HTMLElement).onclick = () => dialog.close();
  // The event is late: the dialog may be open again.
  dialog.onclose = () => dialog.open || leaving.abort();
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
