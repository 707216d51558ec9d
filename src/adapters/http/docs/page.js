/* global SwaggerUIBundle */

const address = new URL('.', location.href).href.replace(/\/$/, '');

/** With the address that this page came from as its first server: whoever can read the page can send to that one. */
function withThisServer(description) {
  const others = description.servers.filter(({ url }) => url !== address);
  return { ...description, servers: [{ url: address }, ...others] };
}

function followColorScheme(dark) {
  document.documentElement.classList.toggle('dark-mode', dark.matches);
}

const dark = matchMedia('(prefers-color-scheme: dark)');
dark.addEventListener('change', followColorScheme);
followColorScheme(dark);

const answer = await fetch('openapi.json');
SwaggerUIBundle({
  domNode: document.getElementById('reference'),
  spec: withThisServer(await answer.json()),
  docExpansion: 'full',
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
