/** @import { Layout, List, Reading } from './types.d.ts' */
import { findLayout } from '../../../src/lists/columns.js';
import { byId, write } from '../dom.js';

/** What a column may be, and what is offered for there being none. */
const NONE = { id: 'none', name: 'choose one', tag: 'none' };

const [form, from] = [byId('import-form', HTMLFormElement), byId('import-from', HTMLInputElement)];
const [existing, encodings] = [
  byId('import-existing', HTMLFieldSetElement),
  byId('import-encoding', HTMLSelectElement),
];
const column = (/** @type {string} */ field) => byId(`import-${field}`, HTMLSelectElement);
const [named, skip] = [byId('import-named', HTMLInputElement), byId('import-skip', HTMLInputElement)];

/** Offers the encodings and the columns of a list, and chooses those that were found. */
export function fillForm(
  /** @type {List} */ list,
  /** @type {Layout | undefined} */ layout,
  /** @type {bigint} */ firstId,
) {
  const { encoding, fitting } = list;
  form.classList.toggle('csv', layout !== undefined);
  form.classList.toggle('has-encodings', fitting.length > 0);
  const offered = fitting.map((one) => new Option(`${one.encoding}: ${one.sample}`, one.encoding));
  encodings.replaceChildren(...offered);
  encodings.value = encoding;
  from.value = `${firstId}`;
  skip.disabled = false;
  write('import-compared');
  column('name').required = layout !== undefined;
  if (layout === undefined) return;
  const { id, name, tag, names, header, doubt } = layout;
  named.checked = header > 0;
  const before = header > 1 ? `Row ${header} names the columns, so nothing before it is imported.` : '';
  write('import-guessed', `${doubt} ${before}`.trim());
  for (const [field, columns] of Object.entries({ id: [id], name, tag: [tag] })) {
    const options = names.map((one, n) => new Option(one.slice(0, 60) || `column ${n + 1}`, `${n + 1}`));
    const own = columns.map((n) => n + 1).join('+');
    if (columns.length > 1) options.push(new Option(columns.map((n) => names[n]).join(' and '), own));
    column(field).replaceChildren(new Option(NONE[/** @type {keyof typeof NONE} */ (field)], ''), ...options);
    column(field).value = own === '0' ? '' : own;
  }
}

/**
 * How a list is to be read as the form is now; undefined where it is not complete.
 *
 * @returns {Reading | undefined}
 * @throws Error in words
 */
export function readForm(/** @type {List} */ list, /** @type {Layout | undefined} */ layout) {
  const hasIds = layout ? column('id').value !== '' : list.hasIds;
  from.disabled = hasIds;
  // The numbers of a list could be those of any plants.
  existing.disabled = !hasIds;
  if (!form.reportValidity()) return undefined;
  const columns = Object.keys(NONE).map((field) => `${field}=${column(field).value}`);
  const header = named.checked ? layout?.header || 1 : 0;
  const said = { columns: columns.join(), header, isNumbered: !hasIds };
  return {
    list,
    layout: layout && findLayout(list.text, said),
    existing: `${new FormData(form).get('existing') ?? 'keep'}`,
    idsFrom: hasIds ? undefined : BigInt(from.value),
  };
}

/** Whether plants whose names are stored are left out of a list. */
export const skipsNames = () => !from.disabled && skip.checked;

/**
 * Stores all plants of a list, since there are too many to compare its names.
 *
 * @param {bigint | undefined} former the first id of a list of this name before: again, its plants get the same ids
 */
export function addSameNames(former) {
  [skip.checked, skip.disabled] = [false, true];
  const again = ` A list of this name had these numbers before. For another list, ${from.value} is free.`;
  write('import-compared', `There are too many plants to compare their names.${former === undefined ? '' : again}`);
  from.value = `${former ?? from.value}`;
}
