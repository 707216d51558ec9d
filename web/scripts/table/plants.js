/** @import { Change, Trouble } from '../api.js' */
/** @import { Row, View } from './view.js' */
import { idOf } from '../ids.js';
import { numberOf, plantsOf } from '../texts.js';
import { loadedPlants } from './loaded-plants.js';
import { matching, ordered, queryOf } from './view.js';

/**
 * @typedef {object} PlantList
 * @property {() => readonly Row[]} rows those that the view shows
 * @property {() => View} view
 * @property {(view: View) => void} show
 * @property {(view: View) => number} count how many of the loaded ones another view would show
 * @property {() => number} loaded how many are loaded, shown or not
 * @property {() => Row | undefined} first the first that is loaded, shown or not
 * @property {() => Set<bigint> | undefined} ids those of all plants; undefined if not all are here
 * @property {() => bigint | undefined} from the id with which the rows begin, unless they begin with the first one
 * @property {() => boolean} hasMore
 * @property {() => boolean} isLoading
 * @property {() => boolean} isLarge whether there are more than are kept
 * @property {() => boolean} isWhole whether all is here that was asked for
 * @property {(id: bigint) => number} indexOf -1 if it is not shown
 * @property {() => string} text how many there are, in words
 * @property {() => void} reload
 * @property {() => void} loadMore
 * @property {(changes: readonly Change[]) => void} apply
 */

/**
 * The plants that the table shows. All are loaded, and arranged here; where there are more than are kept, the service is
 * asked for what the view wants.
 *
 * @param {{ updated(): void, permitted(methods: string): void, failed(error: unknown): void, trouble: Trouble }} events
 * @param {View} view
 * @returns {PlantList}
 */
export function plantList({ updated, ...events }, view) {
  let isLarge = false;
  let shown = /** @type {readonly Row[] | undefined} */ (undefined);
  const plants = loadedPlants({ ...events, updated: changed, full });

  const isWhole = () => !plants.hasMore() && plants.from() === undefined;

  function changed() {
    shown = undefined;
    updated();
  }

  function rows() {
    shown ??= arranged();
    return shown;
  }

  function arranged() {
    const { order } = view;
    if (isLarge) return isWhole() && order !== 'desc' ? ordered(plants.rows(), order) : plants.rows();
    // Not in an order that changes as more come.
    return order && !isWhole() ? [] : ordered(matching(plants.rows(), view), order);
  }

  function full() {
    if (isLarge) return;
    isLarge = true;
    if (`${queryOf(asked())}` === `${queryOf(plants.asked())}` && firstId() === undefined) updated();
    else reload();
  }

  /** What is asked of the service. @returns {View} */
  function asked() {
    const { name, tag, order } = view;
    if (!isLarge) return {};
    return { name: firstId() === undefined ? name : undefined, tag, order: order === 'desc' ? order : undefined };
  }

  const firstId = () => (isLarge ? idOf(view.name ?? '') : undefined);
  const reload = () => plants.begin(asked(), firstId());

  return {
    rows,
    view: () => view,
    show(other) {
      view = other;
      if (isLarge || (plants.hasMore() && !plants.canGrow())) reload();
      else changed();
    },
    count: (other) => matching(plants.rows(), other).length,
    loaded: () => plants.rows().length,
    first: () => plants.rows()[0],
    ids: () => (isLarge || !isWhole() ? undefined : new Set(plants.rows().map(({ id }) => id))),
    from: plants.from,
    hasMore: plants.hasMore,
    isLoading: plants.isLoading,
    isLarge: () => isLarge,
    isWhole,
    indexOf: (id) => rows().findIndex((row) => row.id === id),
    text() {
      const [count, all, from] = [rows().length, plants.rows().length, plants.from()];
      if (isWhole()) return count === all ? plantsOf(count) : `${numberOf(count)} of ${plantsOf(all)}`;
      // Before its first page.
      if (all === 0 && !isLarge) return '';
      if (plants.isLoading()) return `${plantsOf(count)}, searching …`;
      return `${plantsOf(count)}${from === undefined ? '' : ` from id ${from}`}${plants.canGrow() ? ', more below' : ''}`;
    },
    reload,
    loadMore: plants.loadMore,
    apply: plants.apply,
  };
}
