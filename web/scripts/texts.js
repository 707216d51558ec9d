/** @import { Plant } from './api.js' */
import { make } from './dom.js';

/** Stands for a space at an end of a text, since no text has U+0000. */
const EDGE = '\0';
/** Scripts in which a joiner between two letters changes how they look. */
const SCRIPTS = 'Arab|Beng|Deva|Gujr|Guru|Khmr|Knda|Mlym|Mong|Mymr|Orya|Sinh|Syrc|Taml|Telu';
const LETTER = `[${SCRIPTS.replace(/(\w+)\|?/g, '\\p{scx=$1}')}]`;
const SEEN = `\\p{RGI_Emoji}|(?<=${LETTER})[\\u200C\\u200D](?=${LETTER})`;
/** U+2800 is a Braille pattern without dots. */
const UNSEEN = `${EDGE}+|[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\p{Zl}\\p{Zp}\\u2800[\\p{Zs}--[ ]]]`;
const PARTS = new RegExp(`(${SEEN})|(${UNSEEN})`, 'v');

export const numberOf = (/** @type {number} */ count) => count.toLocaleString('en');
export const charactersOf = (/** @type {number} */ count) => `${numberOf(count)} characters`;
export const plantsOf = (/** @type {number} */ count) => `${numberOf(count)} ${count === 1 ? 'plant' : 'plants'}`;

/** What shows a text in one line, with signs for what nobody would see; of a long one the beginning. @returns {Node[]} */
export function nodesOf(/** @type {string} */ text, lengthMax = 200) {
  if (text === '') return [make('span', { className: 'sign' }, 'empty')];
  // Isolated: its direction ends with it.
  const start = make('bdi', {}, ...withSigns(withEdges(text.slice(0, lengthMax).toWellFormed())));
  if (text.length <= lengthMax) return [start];
  return [start, make('span', { className: 'length' }, charactersOf(Array.from(text).length))];
}

/** A row of a table that is only read. */
export const tableRow = (/** @type {(Node | string)[][]} */ ...cells) =>
  make('tr', {}, ...cells.map((nodes) => make('td', {}, ...nodes)));

export const plantRow = (/** @type {Plant} */ { id, name, tag }) =>
  tableRow([`${id}`], nodesOf(name), tag === undefined ? [] : nodesOf(tag));

const withEdges = (/** @type {string} */ text) => text.replace(/^ +| +$/g, (spaces) => EDGE.repeat(spaces.length));

/** A text with signs for what nobody would see: the third of each three parts, if there is one. */
const withSigns = (/** @type {string} */ text) =>
  text.split(PARTS).map((part = '', n) => (n % 3 === 2 && part ? signOf(part) : part));

function signOf(/** @type {string} */ characters) {
  const code = characters.codePointAt(0) ?? 0;
  const name = characters.startsWith(EDGE) ? 'spaces' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const label = code < 0x20 ? JSON.stringify(characters).slice(1, -1) : name;
  const sign = characters.startsWith(EDGE) ? '␣'.repeat(characters.length) : label;
  return make('span', { className: 'sign', title: name }, sign);
}
