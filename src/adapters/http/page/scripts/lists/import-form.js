/** @import { List, Reading } from './types.d.ts' */
import { byId } from '../dom.js';

/** What a column may be, and what is offered for there being none. */
const NONE = { id: 'none', name: 'choose one', tag: 'none' };
const FIELDS = Object.keys(NONE);

const [form, from] = [byId('import-form', HTMLFormElement), byId('import-from', HTMLInputElement)];
const existing = byId('import-existing', HTMLFieldSetElement);
const column = (/** @type {string} */ field) => byId(`import-${field}`, HTMLSelectElement);

/** Offers the columns of a list, and chooses those that are named as ours. */
export function fillForm(/** @type {List} */ { names, isCsv }, /** @type {bigint} */ firstId) {
  form.classList.toggle('csv', isCsv);
  from.value = `${firstId}`;
  for (const [field, none] of Object.entries(NONE)) {
    const options = names.map((name, n) => new Option(name.slice(0, 60) || `column ${n + 1}`, `${n}`));
    column(field).replaceChildren(new Option(none, ''), ...options);
    column(field).selectedIndex = 1 + names.findIndex((name) => fieldOf(name) === field);
    column(field).required = isCsv && field === 'name';
  }
}

/** How a list is to be read as the form is now. @returns {Reading} */
export function readForm(/** @type {List} */ list) {
  from.disabled = column('id').value !== '';
  // The numbers of a list could be those of any plants.
  existing.disabled = !from.disabled;
  const values = new FormData(form);
  const hasNames = list.isCsv && values.has('named');
  const columns = list.names.map((_, n) => FIELDS.find((field) => values.get(field) === `${n}`) ?? '');
  const layout = list.isCsv && { columns: columns.join(), separator: list.separator };
  return {
    list,
    query: { existing: `${values.get('existing') ?? 'keep'}`, ...layout },
    idsFrom: from.disabled || !from.validity.valid ? undefined : BigInt(from.value),
    begin: hasNames ? list.secondLine : list.firstLine,
    // A column that is ignored must not be named as one of ours.
    names: list.names.map((name, n) => columns[n] || (hasNames && !FIELDS.includes(fieldOf(name)) ? name : '')),
  };
}

const fieldOf = (/** @type {string} */ name) => name.replaceAll('"', '').trim().toLowerCase();
