/** @import { Layout, List, Reading } from './types.d.ts' */
import { byId, write } from '../dom.js';

/** What a column may be, and what is offered for there being none. */
const NONE = { id: 'none', name: 'choose one', tag: 'none' };
const FIELDS = Object.keys(NONE);

const [form, from] = [byId('import-form', HTMLFormElement), byId('import-from', HTMLInputElement)];
const existing = byId('import-existing', HTMLFieldSetElement);
const column = (/** @type {string} */ field) => byId(`import-${field}`, HTMLSelectElement);
const [named, skip] = [byId('import-named', HTMLInputElement), byId('import-skip', HTMLInputElement)];

/** Offers the columns of a list, and chooses those that the service has found. */
export function fillForm(/** @type {List} */ { isCsv }, /** @type {Layout} */ layout, /** @type {bigint} */ firstId) {
  const { columns, names, header, guessed } = layout;
  form.classList.toggle('csv', isCsv);
  from.value = `${firstId}`;
  skip.disabled = false;
  write('import-compared');
  named.checked = header !== undefined;
  const guesses = guessed.map(({ column, name }) => `${name} is the ${column}`);
  const notes = [
    header !== undefined && header > 1 ? `Line ${header} names the columns, so nothing before it is imported.` : '',
    guesses.length > 0 ? `Guessed by their names: ${guesses.join(', ')}.` : '',
  ];
  write('import-guessed', notes.join(' ').trim());
  for (const [field, none] of Object.entries(NONE)) {
    const options = names.map((name, n) => new Option(name.slice(0, 60) || `column ${n + 1}`, `${n}`));
    column(field).replaceChildren(new Option(none, ''), ...options);
    column(field).selectedIndex = 1 + columns.indexOf(field);
    column(field).required = isCsv && field === 'name';
  }
}

/** How a list is to be read as the form is now. @returns {Reading} */
export function readForm(/** @type {List} */ list, /** @type {Layout} */ { columns: own, names, separator, header }) {
  from.disabled = column('id').value !== '';
  // The numbers of a list could be those of any plants.
  existing.disabled = !from.disabled;
  const values = new FormData(form);
  const columns = names.map((_, n) => FIELDS.find((field) => values.get(field) === `${n}`) ?? '');
  const line = named.checked ? { header: `${header ?? list.firstLine}` } : {};
  return {
    list,
    query: {
      existing: `${values.get('existing') ?? 'keep'}`,
      ...(list.isCsv && { columns: columns.join(), separator, ...line }),
      ...(!from.disabled && skip.checked && { sameName: 'skip' }),
    },
    columns,
    separator,
    idsFrom: from.disabled || !from.validity.valid ? undefined : BigInt(from.value),
    // Where the columns are others than the service has guessed, one that is ignored could be guessed next time.
    names: names.map((name, n) => columns[n] || (named.checked && columns.join() === own.join() ? name : '')),
  };
}

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
