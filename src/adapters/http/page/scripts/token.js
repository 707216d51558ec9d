/** The access token is in the memory of this tab, and nowhere else. */
const KEY = 'plant-store-token';

/** Takes the token of a link such as `/#token=...` out of the address. What no token has stays encoded. */
export function takeToken() {
  const [, given] = /[#&]token=([^&]+)/.exec(location.hash) ?? [];
  if (given === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  sessionStorage.setItem(KEY, given.replace(/%[2-7][\da-f]/gi, decodeURIComponent));
}

export function startAgain(/** @type {string} */ token) {
  sessionStorage.setItem(KEY, token);
  location.reload();
}

export const currentToken = () => sessionStorage.getItem(KEY) ?? '';
