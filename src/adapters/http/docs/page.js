/* global SwaggerUIBundle */

const address = new URL('.', location.href).href.replace(/\/$/, '');

/** Puts the address of this page first among the servers: whoever can read the page can send requests there. */
function withThisServer(description) {
  const otherServers = description.servers.filter(({ url }) => url !== address);
  return { ...description, servers: [{ url: address }, ...otherServers] };
}

function followColorScheme(dark) {
  document.documentElement.classList.toggle('dark-mode', dark.matches);
}

const dark = matchMedia('(prefers-color-scheme: dark)');
dark.addEventListener('change', followColorScheme);
followColorScheme(dark);

/** Characters of a response that the page reads and shows: a browser renders them within about a second. */
const LENGTH_MAX = 50_000;

/** Reads only what is shown of a response: a whole list may have gigabytes. */
async function fetchBeginning(url, request) {
  const response = await fetch(url, request);
  if (response.body === null) return response;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.length <= LENGTH_MAX) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return new Response(text, response);
}

/** Requests the media type that the form shows: until somebody chooses one, Swagger UI accepts any. */
function prepare(request) {
  if (request.headers.accept === '*/*') request.headers.accept = 'application/json';
  return Object.assign(request, { userFetch: fetchBeginning });
}

/** Shows the beginning of a long response, and the integers of JSON with all their digits, which Swagger UI rounds. */
function showExactly({ React: { createElement } }) {
  const wrap = (ResponseBody) => (props) => {
    const { content, contentType, getComponent } = props;
    if (typeof content !== 'string' || !/json/i.test(contentType)) return createElement(ResponseBody, props);
    const text = /ndjson/i.test(contentType) ? content : indented(content);
    const isCut = Math.max(content.length, text.length) > LENGTH_MAX;
    const code = { language: 'json', downloadable: !isCut, fileName: 'response.json', canCopy: true };
    return createElement(
      'div',
      null,
      createElement('h5', null, 'Response body'),
      isCut &&
        createElement('p', null, `Only its first ${LENGTH_MAX} characters are shown; the curl command gets all.`),
      createElement(getComponent('HighlightCode', true), code, text.slice(0, LENGTH_MAX)),
    );
  };
  return { wrapComponents: { responseBody: wrap } };
}

/** JSON with a line for each value, and all digits of its numbers, which JSON.parse would round; as it is if it is cut off. */
function indented(json) {
  const exact = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
  try {
    return JSON.stringify(JSON.parse(json, exact), null, 2);
  } catch {
    return json;
  }
}

const response = await fetch('openapi.json');
SwaggerUIBundle({
  domNode: document.getElementById('reference'),
  spec: withThisServer(await response.json()),
  docExpansion: 'list',
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: prepare,
  plugins: [showExactly],
});
