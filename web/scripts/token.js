import { byId, write } from './dom.js';

/** The access token is in the session storage of this tab, or in that of this device if its user says so, and nowhere else. */
const KEY = 'plant-store-token';

const [dialog, field] = [byId('sign-in', HTMLDialogElement), byId('token', HTMLInputElement)];
const onDevice = byId('keep-token', HTMLInputElement);

export const currentToken = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';

/** Keeps a token in one place. */
function keep(/** @type {string} */ token, /** @type {boolean} */ isOnDevice) {
  const [place, other] = isOnDevice ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  place.setItem(KEY, token);
  other.removeItem(KEY);
  showPlace();
}

/** Offers to keep on this device what only the tab has. */
function showPlace() {
  document.body.classList.toggle('may-stay', sessionStorage.getItem(KEY) !== null);
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
  showPlace();
  const [token, former] = [tokenIn(location.hash), currentToken()];
  if (token === undefined) return false;
  const others = location.hash.replace(/(?<=[#&])token=[^&]*&?/g, '').replace(/[#&]$/, '');
  history.replaceState(null, '', location.pathname + location.search + others);
  const question = 'This link signs you in with another token. Use it in place of yours?';
  // While the page asks for a token, the former one is not accepted.
  if (token === former || (former && !dialog.open && !confirm(question))) return false;
  sessionStorage.setItem(KEY, token);
  showPlace();
  dialog.close();
  return true;
}

/** Asks for another token than this one, unless there is one already, above all that is open, so that nothing is lost. */
export async function signIn(/** @type {string} */ refused, why = '') {
  if (currentToken() !== refused) return;
  write('sign-in-problem', why);
  // Not where this tab has one of its own, as by a link: the other tabs keep that of the device.
  onDevice.checked = sessionStorage.getItem(KEY) === null && localStorage.getItem(KEY) !== null;
  if (!dialog.open) dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
}

export function forgetToken() {
  for (const place of [sessionStorage, localStorage]) place.removeItem(KEY);
  location.reload();
}

dialog.oncancel = () => false;
dialog.onsubmit = () => {
  keep(tokenIn(field.value) ?? field.value, onDevice.checked);
  field.value = '';
};
byId('show-token', HTMLInputElement).onchange = ({ target }) => {
  field.type = target instanceof HTMLInputElement && target.checked ? 'text' : 'password';
};
byId('stay', HTMLElement).onclick = () => {
  keep(currentToken(), true);
  write('done', 'You stay signed in on this device, until you choose “Sign out”.');
};
