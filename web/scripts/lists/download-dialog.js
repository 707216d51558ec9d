import { byId, onClick, write } from '../dom.js';
import { errorOf } from '../errors.js';
import * as list from '../table/plants.js';
import { isFiltered, queryOf, view } from '../table/view.js';
import { currentToken } from '../token.js';
import { workDialog } from '../work-dialog.js';
import { save } from './files.js';

/* The dialog that saves the plants of the table's filter, also those that are not in the table yet. */

/**
 * In CSV: cells that spreadsheets alter. They keep 15 digits of a number, and take no zeros before it; 1/2 becomes a date, 1E5
 * a number, and what begins with a sign of formulas one of these.
 */
const ALTERED =
  /(?<=[,;\t\n]"?)(?:-?\d{16,}|0\d+|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?|\d+E\d+|(?:=|[+@-](?!\d))[^\n,;\t"]{1,30})(?=["\r,;\t])/g;
/** The most such cells that are shown, and the most characters at the end of a chunk that may begin one. */
const [SHOWN_MAX, ALTERED_LENGTH_MAX] = [5, 40];
const ADVICE = `To keep such texts, do not open the file, but import it with all columns as Text: in Excel by Data, From Text/CSV,
  Transform Data, in LibreOffice by a click on the head of each column as it asks.`;

/** Where a comma is the decimal sign, spreadsheets take semicolons to separate cells. */
const separator = Intl.NumberFormat().format(0.5).includes(',') ? ';' : ',';

const { attempt, show } = workDialog('download');
const isForSpreadsheets = byId('download-csv', HTMLInputElement);

/** Reads all plants before any is saved: a list that breaks off must not look like a whole one. */
async function download(/** @type {AbortSignal} */ signal) {
  write('download-done');
  const [{ tag, name }, isCsv] = [view(), isForSpreadsheets.checked];
  // What the page has found by itself, the service would not.
  const isOfPage = !list.isLarge() && (name !== undefined || tag === null);
  const ids = isOfPage ? new Set(list.rows().map(({ id }) => id)) : undefined;
  const query = queryOf({ tag, name: ids ? undefined : name, separator: isCsv ? separator : undefined });
  const type = isCsv ? 'text/csv' : 'application/x-ndjson';
  const headers = { Authorization: `Bearer ${currentToken()}`, Accept: type };
  const response = await fetch(`plants?${query}`, { headers, signal, redirect: 'manual' }).catch(() => undefined);
  const isList = response?.ok && response.headers.get('Content-Type')?.startsWith(type);
  if (!response || !isList) throw errorOf(response, await response?.json().catch(() => undefined));
  // Browsers keep a Blob outside of the page's memory.
  const whole = await response.blob().catch(() => undefined);
  if (!whole) throw new Error('The connection broke off, so nothing was saved. Download it again.');
  const blob = ids ? new Blob(recordsWith(ids, await whole.text(), isCsv)) : whole;
  const cells = isCsv ? await alteredIn(blob) : [];
  signal.throwIfAborted();
  const file = isCsv ? 'plants.csv' : 'plants.ndjson';
  // Excel takes a list without a byte order mark for one in another encoding.
  save(new Blob(isCsv ? ['\uFEFF', blob] : [blob], { type }), file);
  write('download-done', `Saved as ${file}.`);
  write('download-trouble', cells.length > 0 ? `Spreadsheets would alter ${cells.join(', ')}. ${ADVICE}` : '');
}

byId('download-form', HTMLFormElement).onsubmit = (event) => {
  event.preventDefault();
  show('running');
  void attempt(({ signal }) => download(signal).finally(() => show('asking')));
};
onClick('download-list', () =>
  attempt(async () => {
    write('download-what', isFiltered(view()) ? 'The plants that you search for' : 'All plants');
    write('download-done');
    show('asking');
  }),
);

/** The records of these plants, and the line that names the columns. */
function recordsWith(/** @type {Set<bigint>} */ ids, /** @type {string} */ list, /** @type {boolean} */ isCsv) {
  const records = list.match(isCsv ? /(?:"[^"]*"|[^"\n])*\n/g : /[^\n]*\n/g) ?? [];
  const idOf = isCsv ? /^(-?\d+)/ : /"id":(-?\d+)/;
  return records.filter((record) => !idOf.test(record) || ids.has(BigInt(idOf.exec(record)?.[1] ?? '')));
}

/** The first cells of CSV that spreadsheets alter. */
async function alteredIn(/** @type {Blob} */ list) {
  const cells = /** @type {Set<string>} */ (new Set());
  let end = '';
  const scan = (/** @type {string} */ text) => {
    for (const [cell] of cells.size < SHOWN_MAX ? (end + text).matchAll(ALTERED) : []) cells.add(cell);
    end = text.slice(-ALTERED_LENGTH_MAX);
  };
  await list
    .stream()
    .pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: scan }));
  return [...cells].slice(0, SHOWN_MAX);
}
