/** @import { Change, Trouble } from '../api.js' */
/** @import { Row, View } from './view.js' */
import { idOf } from '../ids.js';
import { numberOf, plantsOf } from '../texts.js';
import { loadedPlants } from './loaded-plants.js';
import { matching, ordered, queryOf } from './view.js';

/** @typedef {ReturnType<typeof plantList>} PlantList */

/**
 * The plants that the table shows. All are loaded, and arranged here; where there are more than are kept, the service is
 * asked for what the view wants.
 *
 * @param {{ updated(): void, permitted(methods: string): void, failed(error: unknown): void, trouble: Trouble }} events
 * @param {View} view
 */
export function plantList({ updated, ...events }, view) {
  let isLarge = false;
  let shown = /** @type {readonly Row[] | undefined} */ (undefined);
  const plants = loadedPlants({ ...events, updated: changed, full });

  /** Whether all is here that was asked for. */
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
    if (`${queryOf(wanted())}` === `${queryOf(plants.asked())}` && firstId() === undefined) updated();
    else reload();
  }

  /** What is asked of the service. @returns {View} */
  function wanted() {
    const { name, tag, order } = view;
    if (!isLarge) return {};
    return { name: firstId() === undefined ? name : undefined, tag, order: order === 'desc' ? order : undefined };
  }

  const firstId = () => (isLarge ? idOf(view.name ?? '') : undefined);
  const reload = () => plants.begin(wanted(), firstId());
  const indexOf = (/** @type {bigint} */ id) => rows().findIndex((row) => row.id === id);

  return {
    rows,
    view: () => view,
    /** How many are loaded, shown or not. */
    loaded: () => plants.rows().length,
    from: plants.from,
    hasMore: plants.hasMore,
    isLoading: plants.isLoading,
    isLarge: () => isLarge,
    isWhole,
    /** How many of those that are loaded another view would show. */
    count: (/** @type {View} */ other) => matching(plants.rows(), other).length,
    has: (/** @type {bigint} */ id) => indexOf(id) >= 0,
    /** -1 if it is not shown. */
    indexOf,
    show(/** @type {View} */ other) {
      view = other;
      if (isLarge || (plants.hasMore() && !plants.canGrow())) void reload();
      else changed();
    },
    /** How many there are, in words. */
    text() {
      const [count, all, from] = [rows().length, plants.rows().length, plants.from()];
      if (isWhole()) return count === all ? plantsOf(count) : `${numberOf(count)} of ${plantsOf(all)}`;
      // Before its first page.
      if (all === 0 && !isLarge) return '';
      if (plants.isLoading()) return `${plantsOf(count)}, searching …`;
      return `${plantsOf(count)}${from === undefined ? '' : ` from id ${from}`}${plants.canGrow() ? ', more below' : ''}`;
    },
    reload: () => void reload(),
    /** Goes to the last plants. */
    async showEnd() {
      await plants.grown();
      if (plants.hasMore()) await plants.begin(wanted(), undefined, true);
    },
    loadMore: plants.loadMore,
    apply: (/** @type {readonly Change[]} */ changes) => plants.apply(changes),
  };
}
