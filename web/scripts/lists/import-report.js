/** @import { List, SentPart } from './types.d.ts' */
import { byId, write } from '../dom.js';

/** Refusals that are shown. */
const MAX_SHOWN = 300;

const count = (/** @type {number} */ value) => value.toLocaleString('en');

/** Shows what becomes of a list, part by part: what is ignored, what was refused, and sums. */
export function importReport(/** @type {List} */ { lines: own }) {
  const lineOf = (/** @type {number} */ line) => own?.[line - 1] ?? line;
  const sums = {
    read: 0,
    new: 0,
    replaced: 0,
    'there already': 0,
    'whose names are there already': 0,
    'twice in this list': 0,
    refused: 0,
  };
  const ignored = new Set();
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

  function add(/** @type {SentPart} */ part) {
    for (const { line, lastLine, message } of part.refused.slice(0, Math.max(0, MAX_SHOWN - sums.refused))) {
      const lines = [...new Set([line, lastLine])].map((number) => count(lineOf(number + part.linesBefore)));
      refusals.value += `Line ${lines.join(' to ')}: ${message}\n`;
    }
    sums.read += part.records;
    sums.new += part.created;
    sums.replaced += part.changed;
    const { unchanged, sameName = 0, repeated } = part;
    sums['there already'] += unchanged - sameName - repeated;
    sums['whose names are there already'] += sameName;
    sums['twice in this list'] += repeated;
    sums.refused += part.refused.length;
    hasTaken ||= part.refused.some(({ error }) => error === 40009);
    for (const name of part.ignored) ignored.add(name);
    draw();
  }

  draw();
  return add;
}
