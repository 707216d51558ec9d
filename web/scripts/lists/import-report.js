/** @import { Outcome } from '../../../src/lists/batches.js' */
/** @import { Plant } from '../../../src/lists/records.js' */
/** @import { Reading } from './list-reader.js' */
import { plantIn } from '../../../src/lists/records.js';
import { byId, make, onClick, write } from '../dom.js';
import { ROWS_MAX } from '../table/plants.js';
import { nodesOf, numberOf, plantRow, tableRow } from '../texts.js';
import { save } from './files.js';

/** The most refusals, first plants, replaced plants and repeated ids that are shown. */
const [REFUSALS_MAX, PLANTS_MAX, CHANGES_MAX, TWICE_MAX] = [300, 5, 20, 10];
const WORDS = ['read', 'new', 'replaced', 'there already', 'whose names are there already', 'refused'];

const idsAreTaken = byId('import-taken', HTMLElement);
const [plantRows, changeRows] = [byId('import-plants', HTMLElement), byId('import-changes', HTMLElement)];

export function clearReport() {
  for (const what of ['plants', 'sums', 'ignored', 'twice', 'changes', 'refused']) write(`import-${what}`);
  idsAreTaken.hidden = true;
}

/** Name and tag in one cell. @returns {(Node | string)[]} */
const textsOf = (/** @type {Plant} */ { name, tag }) =>
  tag === undefined ? nodesOf(name) : [...nodesOf(name), ' ', make('span', { className: 'tag' }, ...nodesOf(tag))];

/** Shows what becomes of a list, batch by batch, and saves what is refused of it. */
export function importReport(/** @type {Reading} */ { list, layout, existing }) {
  let sums = WORDS.map(() => 0);
  const columns = [layout?.id, layout?.tag, ...(layout?.name ?? [])];
  const ignoredNames = new Set(layout?.names.filter((name, n) => name && layout.header > 0 && !columns.includes(n)));
  /** The row of each id, as many as the table has; the ids of stored plants; and the ids that come again. */
  const rows = /** @type {Map<bigint, number>} */ (new Map());
  const [storedIds, repeats] = [/** @type {Set<bigint>} */ (new Set()), /** @type {string[]} */ ([])];
  /** The records that are refused, in a Blob for each batch: browsers keep them outside of the page's memory. */
  const rejectedRecords = /** @type {Blob[]} */ ([]);
  onClick('import-rejected', () => {
    const head = layout ? `\uFEFF${layout.head}` : '';
    save(new Blob([head, ...rejectedRecords]), `${list.file.name}.rejected.${layout ? 'csv' : 'ndjson'}`);
  });
  clearReport();

  function add(/** @type {Outcome} */ outcome) {
    const { plants, leftOut, refused, created, changed, unchanged } = outcome;
    for (const { row, problem } of refused.slice(0, Math.max(0, REFUSALS_MAX - (sums.at(-1) ?? 0))))
      byId('import-refused', HTMLElement).append(`Row ${numberOf(row)}: ${problem}\n`);
    const counts = [created, changed, unchanged, leftOut, refused.length];
    sums = [counts.reduce((a, b) => a + b), ...counts].map((count, n) => count + (sums[n] ?? 0));
    rejectedRecords.push(new Blob(refused.map(({ raw }) => raw)));
    if (refused.some(({ error }) => error === 40009)) idsAreTaken.hidden = false;
    for (const name of outcome.ignored) ignoredNames.add(name);
    for (const { before, after } of outcome.changes ?? []) {
      if (changeRows.childElementCount < CHANGES_MAX)
        changeRows.append(tableRow([`${after.id}`], textsOf(before), textsOf(after)));
    }
    const refusedRows = new Set(refused.map(({ row }) => row));
    for (const record of rows.size < ROWS_MAX ? plants : []) {
      for (const plant of plantIn(record)) {
        const { id } = plant;
        if (rows.has(id)) repeats.push(`${id} (rows ${rows.get(id)} and ${record.row})`);
        rows.set(id, record.row);
        if (!refusedRows.has(record.row)) storedIds.add(id);
        if (plantRows.childElementCount < PLANTS_MAX) plantRows.append(plantRow(plant));
      }
    }
    const sumTexts = sums.flatMap((sum, n) => (sum > 0 ? `${numberOf(sum)} ${WORDS[n]}` : []));
    write('import-sums', sumTexts.join(', '));
    write('import-ignored', ignoredNames.size > 0 ? `Not stored: ${[...ignoredNames].join(', ')}` : '');
    const more = repeats.length > TWICE_MAX ? ` and ${numberOf(repeats.length - TWICE_MAX)} more` : '';
    const which = existing === 'keep' ? 'first' : 'last';
    const ids = `${repeats.slice(0, TWICE_MAX).join(', ')}${more}. Only the ${which} plant of each is stored.`;
    write('import-twice', repeats.length > 0 ? `Ids that come twice: ${ids}` : '');
  }

  /** `storedIds` has the ids of plants that are stored. */
  return { add, storedIds };
}
