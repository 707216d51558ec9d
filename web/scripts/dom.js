/** The element of the page that has this id. @template {Element} T */
export function byId(/** @type {string} */ id, /** @type {new () => T} */ type) {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new TypeError(`the page has no ${type.name} ${id}`);
}

/**
 * Makes an element. Texts become text nodes, never HTML.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function write(/** @type {string} */ id, /** @type {(Node | string)[]} */ ...content) {
  const element = byId(id, HTMLElement);
  // A screen reader would say the same text again.
  if (content.length > 1 || content[0] !== element.textContent) element.replaceChildren(...content);
}

export function onClick(/** @type {string} */ id, /** @type {() => void} */ act) {
  byId(id, HTMLElement).onclick = () => act();
}

/** Asks in a dialog above all that is open, so that nothing is lost, and waits until it is closed. */
export async function askIn(/** @type {HTMLDialogElement} */ dialog) {
  if (!dialog.open) dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
}

/** Puts the page into a state, or out of it: a class of its body, on which the styles depend. */
export const setState = (/** @type {string} */ state, /** @type {boolean} */ isOn) =>
  document.body.classList.toggle(state, isOn);

/** Makes everything that shows plants show them again. */
export const redraw = () => dispatchEvent(new Event('redraw'));

/** Makes a function that gives a new signal at each call, and aborts the one before. */
export function latest() {
  let current = new AbortController();
  return () => {
    current.abort();
    current = new AbortController();
    return current.signal;
  };
}
