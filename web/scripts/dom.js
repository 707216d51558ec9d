/** @import { Make } from './types.d.ts' */

/** The element of the page that has this id. @template {Element} T */
export function byId(/** @type {string} */ id, /** @type {new () => T} */ type) {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new TypeError(`the page has no ${type.name} ${id}`);
}

/** @type {Make} */
export function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export const write = (/** @type {string} */ id, /** @type {(Node | string)[]} */ ...content) =>
  byId(id, HTMLElement).replaceChildren(...content);
