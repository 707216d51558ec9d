/** @import { List, Reading } from './list-reader.js' */
import { detectLayout } from '../../../src/lists/columns.js';
import { byId, write } from '../dom.js';
import { nodesOf } from '../texts.js';

/** What a column may be, and the text that is offered for no column. */
const NONE = /** @type {const} */ ({ id: 'none', name: 'choose one', tag: 'none' });

const [form, from] = [byId('import-form', HTMLFormElement), byId('import-from', HTMLInputElement)];
const [replaces, skip] = [byId('import-replace', HTMLInputElement), byId('import-skip', HTMLInputElement)];
const [csv, named] = [byId('import-columns', HTMLFieldSetElement), byId('import-named', HTMLInputElement)];
const menu = (/** @type {string} */ field) => byId(`import-${field}`, HTMLSelectElement);

const option = (/** @type {string} */ text, /** @type {string | number} */ value) =>
  new Option(text.slice(0, 80), `${value}`);

/** @param {string} field @param {HTMLOptionElement[]} options @param {string} value */
function offer(field, options, value) {
  menu(field).replaceChildren(...options);
  menu(field).value = value;
}

/** Fills in what a list may be, and chooses what was found or is proposed. @param {List} list @param {bigint} firstId */
export function fillForm({ file, encoding, variants, variant, layout }, firstId) {
  write('import-what', ...nodesOf(file.name));
  write('import-encoded', encoding && `, ${encoding}`);
  write('import-variants', encoding ? 'Its encoding: choose the line that reads right' : 'Its sheet');
  const options = variants.map(({ text, value }) => option(text, value));
  offer('variant', options, variant);
  from.value = `${firstId}`;
  skip.checked = true;
  csv.disabled = layout === undefined;
  if (layout === undefined) return;
  const { names, header, doubt } = layout;
  named.checked = header > 0;
  write('import-header', `${header || 1}`);
  write('import-guessed', doubt?.message ?? '');
  for (const field of /** @type {const} */ (['id', 'name', 'tag'])) {
    const columns = [layout[field]].flat();
    const value = columns.map((n) => n + 1 || '').join('+');
    const columnOptions = names.map((name, n) => option(name || `column ${n + 1}`, n + 1));
    const jointOption = columns.length > 1 ? [option(columns.map((n) => names[n]).join(' and '), value)] : [];
    offer(field, [option(NONE[field], ''), ...columnOptions, ...jointOption], value);
  }
}

/**
 * How the form says that a list is to be read; undefined while the form is not complete.
 *
 * @returns {Reading | undefined}
 * @throws Error in words
 */
export function readForm(/** @type {List} */ list) {
  const hasIds = list.layout ? menu('id').value !== '' : /"id"\s*:/.test(list.text.slice(0, 100_000));
  from.disabled = hasIds;
  // The numbers of a list could be those of any plants.
  replaces.disabled = !hasIds || !document.body.matches('.may-change');
  if (!form.checkValidity()) return undefined;
  const columns = Object.keys(NONE).map((field) => `${field}=${menu(field).value}`);
  const header = named.checked ? list.layout?.header || 1 : 0;
  const layout = list.layout && detectLayout(list.text, { columns: columns.join(), header, isNumbered: !hasIds });
  const existing = !replaces.disabled && replaces.checked ? 'replace' : 'keep';
  const idsFrom = hasIds ? undefined : BigInt(from.value);
  return { list, layout, existing, idsFrom, skipsNames: !hasIds && skip.checked };
}
