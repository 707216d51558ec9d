/** @import { PlantList } from './plants.js' */
import { make, write } from '../dom.js';
import { nodesOf } from '../texts.js';

/** Prints all that the table shows: it has only the rows in view. */
export function printing(/** @type {PlantList} */ list) {
  addEventListener('beforeprint', () => {
    write('print-title', `Plant Store: ${list.text()}`);
    const rows = list.rows().map(({ id, name, tag }) => {
      const cells = [[`${id}`], nodesOf(name), tag === undefined ? [] : nodesOf(tag)];
      return make('tr', {}, ...cells.map((nodes) => make('td', {}, ...nodes)));
    });
    write('print-rows', ...rows);
  });
  addEventListener('afterprint', () => write('print-rows'));
}
