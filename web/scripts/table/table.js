/** @import { Row } from './view.js' */
import { byId, make } from '../dom.js';
import { isLeaving } from '../editor/undo.js';
import { nodesOf } from '../texts.js';
import { limit } from './fields.js';
import * as list from './plants.js';
import * as selection from './selection.js';

/* The grid: only the rows in view are in the document. The focus stays on the grid, on its active row. */

/** Rows above and below the visible ones that are in the document, too; with fewer than AHEAD_ROWS below, more are loaded. */
const [MARGIN_ROWS, AHEAD_ROWS] = [6, 300];

const [grid, body] = [byId('plants', HTMLElement), byId('rows', HTMLElement)];
let elements = /** @type {Map<Row, HTMLElement>} */ (new Map());
let active = /** @type {bigint | undefined} */ (undefined);
/** Where the active row is, or was before it went. */
let activeIndex = -1;
/** What was drawn at the upper edge, so that it stays there when rows above it come or go. */
let top = { id: 0n, offset: 0, scrollTop: 0 };
let [height, room] = [1, 1];

function draw() {
  const [rows, { scrollTop }] = [list.rows(), grid];
  const first = Math.floor(scrollTop / height);
  let index = Math.max(0, first - MARGIN_ROWS);
  const visible = rows.slice(index, first + Math.ceil(room / height) + MARGIN_ROWS);
  if (index + visible.length + AHEAD_ROWS > rows.length) list.loadMore();
  const next = new Map(visible.map((row) => [row, elements.get(row) ?? elementOf(row)]));
  for (const [row, element] of elements) if (!next.has(row)) element.remove();
  let place = body.firstElementChild;
  for (const [row, element] of next) {
    if (element === place) place = place.nextElementSibling;
    else body.insertBefore(element, place);
    element.style.transform = `translateY(${index * height}px)`;
    element.ariaRowIndex = `${++index + 1}`;
    if (row.id === active) activeIndex = index - 1;
    element.classList.toggle('active', row.id === active);
    element.classList.toggle('leaving', isLeaving(row.id));
    element.ariaSelected = `${selection.has(row.id)}`;
    const box = element.querySelector('input');
    if (box) box.checked = selection.has(row.id);
  }
  elements = next;
  const digits = Math.max(2, ...visible.map(({ id }) => `${id}`.length));
  grid.style.setProperty('--digits', `${digits}`);
  grid.ariaRowCount = list.hasMore() ? '-1' : `${rows.length + 1}`;
  grid.setAttribute('aria-activedescendant', visible.some(({ id }) => id === active) ? `plant-${active}` : '');
  top = { id: rows[first]?.id ?? 0n, offset: scrollTop - first * height, scrollTop };
}

function elementOf(/** @type {Row} */ { id, name, tag }) {
  const tags = tag === undefined ? [] : [make('button', { className: 'tag', tabIndex: -1 }, ...nodesOf(tag))];
  const box = make('input', { type: 'checkbox', tabIndex: -1, ariaLabel: `Select ${id}` });
  const cells = [[make('label', { className: 'select' }, box), `${id}`], nodesOf(name), tags].map((parts) =>
    make('td', { role: 'gridcell' }, ...parts),
  );
  const element = make('tr', { id: `plant-${id}`, role: 'row' }, ...cells);
  // So that no text is selected, and the keys stay with the grid.
  element.onmousedown = (event) => {
    if (!event.shiftKey && !(event.target instanceof Element && event.target.closest('.select'))) return;
    event.preventDefault();
    grid.focus();
  };
  element.onclick = ({ target, shiftKey, ctrlKey, metaKey }) => {
    // A click on its label clicks the box, too.
    const isOnLabel = target instanceof Element && target.closest('.select') && target !== box;
    if (isOnLabel) return;
    activate(list.indexOf(id));
    if (target === box || shiftKey || ctrlKey || metaKey) {
      select(shiftKey);
    } else if (tag !== undefined && target instanceof Element && target.closest('.tag')) limit({ tag });
    else open(id);
  };
  return element;
}

/** Whether the token permits what one can do with a selection. */
const maySelect = () => document.body.matches('.may-change');

/** Selects the active row or not, or all from the last one to it. */
function select(/** @type {boolean} */ isRange) {
  if (active === undefined || !maySelect()) return;
  if (isRange) selection.extend(active);
  else selection.toggle(active);
}

function activate(/** @type {number} */ index) {
  const rows = list.rows();
  activeIndex = Math.max(0, Math.min(index, rows.length - 1));
  active = rows[activeIndex]?.id;
  const y = activeIndex * height;
  grid.scrollTop = Math.max(y + height - room, Math.min(grid.scrollTop, y));
  draw();
}

grid.addEventListener('keydown', (event) => {
  const page = Math.floor(room / height);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  const step = new Map(Object.entries(steps)).get(event.key) ?? 0;
  const current = active === undefined ? -1 : list.indexOf(active);
  // If the active one has gone, the next one is where it was.
  const index = current >= 0 ? current : step > 0 ? activeIndex - 1 : activeIndex;
  const { key, shiftKey, ctrlKey, metaKey, altKey, target } = event;
  if (target !== grid || altKey) return;
  if (ctrlKey || metaKey) {
    if (key !== 'a' || !maySelect()) return;
    selection.all();
  }
  // At the first loaded row, another Home shows what is before it.
  else if (step === -Infinity && index === 0 && list.from() !== undefined) list.reload();
  else if (step !== 0) {
    if (shiftKey) select(true);
    activate(index + step);
    if (shiftKey) select(true);
  } else if (key === ' ') select(shiftKey);
  else if (key === 'Escape') selection.replace(new Set());
  else if (key === 'Enter' && active !== undefined) open(active);
  else return;
  event.preventDefault();
});

function update() {
  const { scrollTop } = grid;
  body.style.height = `${list.rows().length * height}px`;
  // It may have been scrolled since it was drawn.
  const index = scrollTop > 0 ? list.indexOf(top.id) : -1;
  if (index >= 0) grid.scrollTop = index * height + top.offset + scrollTop - top.scrollTop;
  draw();
}

addEventListener('redraw', update);
grid.addEventListener('scroll', draw, { passive: true });
new ResizeObserver(() => {
  height = Number.parseFloat(getComputedStyle(grid).getPropertyValue('--row'));
  room = grid.clientHeight - body.offsetTop;
  update();
}).observe(grid);

/** What opens a plant. */
let open = (/** @type {bigint} */ _id) => {};
export const onOpen = (/** @type {typeof open} */ opener) => {
  open = opener;
};

/** Marks a row, and goes to it; if it is still being loaded, once it is there. */
export function choose(/** @type {bigint} */ id) {
  const index = list.indexOf(id);
  if (index >= 0) activate(index);
  else active = id;
}
