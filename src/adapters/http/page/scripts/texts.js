/** @import { Shown } from './types.d.ts' */
import { make } from './dom.js';

/** What is kept of a text that has more than so many characters. @returns {Shown} */
export function cut(/** @type {string} */ text, most = 200) {
  if (text.length <= most) return text;
  // Joined, since a slice would keep the whole text in memory.
  return { start: Array.from(text.slice(0, most)).join('').toWellFormed(), length: Array.from(text).length };
}

export const charactersOf = (/** @type {number} */ count) => `${count.toLocaleString('en')} characters`;

/** What shows a text in one line, with signs for what nobody would see but for joiners. @returns {Node[]} */
export function nodesOf(/** @type {Shown} */ shown) {
  if (shown === '') return [make('span', { className: 'sign' }, 'empty')];
  const { start, length } = typeof shown === 'string' ? { start: shown, length: 0 } : shown;
  const parts = start.split(/([\p{Cc}\u00AD\u200B\u2028-\u202E\u2060\u2066-\u2069\uFEFF])/u);
  // Isolated: its direction ends with it.
  const text = make('bdi', {}, ...parts.map((part, n) => (n % 2 === 0 ? part : signOf(part))));
  return length === 0 ? [text] : [text, make('span', { className: 'length' }, charactersOf(length))];
}

function signOf(/** @type {string} */ character) {
  const code = character.charCodeAt(0);
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return make('span', { className: 'sign', title: name }, code < 0x20 ? JSON.stringify(character).slice(1, -1) : name);
}
