import { askIn, byId, onClick, setState, write } from './dom.js';

const KEY = 'plant-store-token';

const [dialog, field] = [byId('sign-in', HTMLDialogElement), byId('token', HTMLInputElement)];

/** Where the access token is: in this tab, or on this device if its user has said so, and nowhere else. */
const place = () => [sessionStorage, localStorage].find((storage) => storage.getItem(KEY) !== null) ?? sessionStorage;

export const currentToken = () => place().getItem(KEY) ?? '';

/** Keeps a token, and offers to keep on this device what only the tab has. */
function keep(/** @type {string} */ token, storage = place()) {
  storage.setItem(KEY, token);
  setState('may-stay', storage === sessionStorage);
}

/** The token of a link such as `/#token=...`. What no token has stays encoded. */
const tokenIn = (/** @type {string} */ link) =>
  /[#&]token=([^&]+)/.exec(link)?.[1]?.replace(/%[2-7][\da-f]/gi, decodeURIComponent);

/**
 * Takes the token of a link out of the address.
 *
 * @returns whether the tab has another token now: the one that it has is replaced only if its user agrees
 */
export function takeToken() {
  const [token, ownToken] = [tokenIn(location.hash), currentToken()];
  if (token === undefined) return false;
  const fragment = location.hash.replace(/(?<=[#&])token=[^&]*&?/g, '').replace(/[#&]$/, '');
  history.replaceState(null, '', location.pathname + location.search + fragment);
  const question = 'This link signs you in with another token. Use it in place of yours?';
  // While the page asks for a token, the one that it has is not accepted.
  if (token === ownToken || (ownToken && !dialog.open && !confirm(question))) return false;
  // The other tabs keep that of the device.
  keep(token, sessionStorage);
  dialog.close();
  return true;
}

/** Asks for another token than this one, unless there is one already. */
export async function signIn(/** @type {string} */ refusedToken, why = '') {
  if (currentToken() !== refusedToken) return;
  write('sign-in-problem', why);
  await askIn(dialog);
}

export function forgetToken() {
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(KEY);
  location.reload();
}

dialog.oncancel = () => false;
dialog.onsubmit = () => {
  keep(tokenIn(field.value) ?? field.value);
  field.value = '';
};
onClick('stay', () => {
  const token = currentToken();
  sessionStorage.removeItem(KEY);
  keep(token, localStorage);
  write('done', 'You stay signed in on this device, until you choose “Sign out”.');
});
setState('may-stay', sessionStorage.getItem(KEY) !== null);
