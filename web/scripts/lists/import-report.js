/** @import { Outcome } from './types.d.ts' */
import { byId, write } from '../dom.js';

/** Refusals that are shown. */
const MAX_SHOWN = 300;

const count = (/** @type {number} */ value) => value.toLocaleString('en');

/** Shows what becomes of a list, batch by batch: what is ignored, what was refused, and sums. @param unused columns */
export function importReport(/** @type {readonly string[]} */ unused) {
  const sums = {
    read: 0,
    new: 0,
    replaced: 0,
    'there already': 0,
    'whose names are there already': 0,
    refused: 0,
  };
  const ignored = new Set(unused);
  /** Whether one has the id of a different plant. */
  let hasTaken = false;
  const refusals = byId('import-refused', HTMLTextAreaElement);
  refusals.value = '';

  function draw() {
    const parts = Object.entries(sums).filter(([, value]) => value > 0);
    write('import-sums', parts.map(([what, value]) => `${count(value)} ${what}`).join(', '));
    write('import-ignored', ignored.size > 0 ? `Not stored: ${[...ignored].join(', ')}` : '');
    write(
      'import-refused-label',
      `Refused${sums.refused > MAX_SHOWN ? `, the first ${MAX_SHOWN} of ${count(sums.refused)}` : ''}`,
    );
    const { classList } = byId('import-form', HTMLElement);
    classList.toggle('has-refused', sums.refused > 0);
    classList.toggle('has-taken', hasTaken);
  }

  function add(/** @type {Outcome} */ { refused, ...outcome }) {
    for (const { row, problem } of refused.slice(0, Math.max(0, MAX_SHOWN - sums.refused)))
      refusals.value += `Row ${count(row)}: ${problem}\n`;
    sums.read += outcome.records;
    sums.new += outcome.created;
    sums.replaced += outcome.changed;
    sums['there already'] += outcome.unchanged;
    sums['whose names are there already'] += outcome.leftOut;
    sums.refused += refused.length;
    hasTaken ||= refused.some(({ error }) => error === 40009);
    for (const name of outcome.ignored) ignored.add(name);
    draw();
  }

  draw();
  return add;
}
