import { byId, write } from './dom.js';

/** The access token is in the session storage of this tab, and nowhere else. */
const KEY = 'plant-store-token';

const [dialog, field] = [byId('sign-in', HTMLDialogElement), byId('token', HTMLInputElement)];

export const currentToken = () => sessionStorage.getItem(KEY) ?? '';

/**
 * Takes the token of a link such as `/#token=...` out of the address. What no token has stays encoded.
 *
 * @returns whether the tab has another token now: the one that it has is replaced only if its user agrees
 */
export function takeToken() {
  const [, given] = /[#&]token=([^&]+)/.exec(location.hash) ?? [];
  if (given === undefined) return false;
  const others = location.hash.replace(/(?<=[#&])token=[^&]*&?/g, '').replace(/[#&]$/, '');
  history.replaceState(null, '', location.pathname + location.search + others);
  const [token, former] = [given.replace(/%[2-7][\da-f]/gi, decodeURIComponent), currentToken()];
  const question = 'Use the access token of this link instead of the one that this tab has?';
  // While the page asks for a token, the former one is not accepted.
  if (token === former || (former && !dialog.open && !confirm(question))) return false;
  sessionStorage.setItem(KEY, token);
  dialog.close();
  return true;
}

/** Asks for another token than this one, unless there is one already, above all that is open, so that nothing is lost. */
export async function signIn(/** @type {string} */ refused, why = '') {
  if (currentToken() !== refused) return;
  write('sign-in-problem', why);
  if (!dialog.open) dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
  location.reload();
}

dialog.oncancel = () => false;
dialog.onsubmit = () => {
  sessionStorage.setItem(KEY, field.value);
  field.value = '';
};
byId('show-token', HTMLInputElement).onchange = ({ target }) => {
  field.type = target instanceof HTMLInputElement && target.checked ? 'text' : 'password';
};
