/** @import { View } from '../types.d.ts' */
import { idOf } from '../ids.js';

/* What the table shows stands in the fragment of the address: it survives a reload, and reaches no server and no log. */

/** @returns {View} */
export function viewIn(/** @type {string} */ fragment) {
  const texts = new URLSearchParams(fragment.slice(1));
  return {
    from: idOf(texts.get('from') ?? ''),
    tag: texts.get('tag') ?? undefined,
    name: texts.get('name') || undefined,
    order: texts.get('order') === 'desc' ? 'desc' : undefined,
  };
}

/** The view as a query has it: without what is not given. */
export function queryOf(/** @type {View} */ { from, tag, name, order }) {
  const given = Object.entries({ from, tag, name, order }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, `${value}`]],
  );
  return new URLSearchParams(given);
}

/** Whether the address says something else than the view. */
export const isElsewhere = (/** @type {View} */ view) => `${queryOf(view)}` !== `${queryOf(viewIn(location.hash))}`;

/** Has the address say what is shown, without a step for the browser's Back. */
export function keepInAddress(/** @type {View} */ view) {
  if (!isElsewhere(view)) return;
  const fragment = `${queryOf(view)}`;
  history.replaceState(null, '', `${location.pathname}${location.search}${fragment && `#${fragment}`}`);
}
