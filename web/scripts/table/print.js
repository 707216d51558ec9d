/** @import { PlantList } from './plants.js' */
import { make, write } from '../dom.js';
import { cellsOf } from '../texts.js';

/** Prints all that the table shows: it has only the rows in view. */
export function printing(/** @type {PlantList} */ list) {
  addEventListener('beforeprint', () => {
    write('print-title', `Plant Store: ${list.text()}`);
    write('print-rows', ...list.rows().map((row) => make('tr', {}, ...cellsOf(row))));
  });
  addEventListener('afterprint', () => write('print-rows'));
}
