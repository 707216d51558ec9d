/* global SwaggerUIBundle */

const address = new URL('.', location.href).href.replace(/\/$/, '');

/** Puts the address of this page first among the servers: whoever can read the page can send requests there. */
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

/** Scrolls to the response of each Execute, which appears below the button and often off the screen. */
function bringResponseIntoView({ React: { createElement, useEffect, useRef } }) {
  const wrap = (LiveResponse) => (props) => {
    const around = useRef(null);
    useEffect(() => {
      around.current.querySelector('.live-responses-table').scrollIntoView({ block: 'nearest' });
    }, [props.response]);
    return createElement('div', { ref: around }, createElement(LiveResponse, props));
  };
  return { wrapComponents: { liveResponse: wrap } };
}

/** Shows one line for each error status; its button shows and hides the row that Swagger UI renders for it. */
function foldErrors({ React: { createElement, Fragment, useState } }) {
  const wrap = (Response) => (props) => {
    const { code, response } = props;
    const [open, setOpen] = useState(false);
    if (Number(code) < 400) return createElement(Response, props);
    const toggle = { type: 'button', 'aria-expanded': open, onClick: () => setOpen(!open) };
    const line = createElement(
      'tr',
      { className: 'error-line' },
      createElement('td', { className: 'response-col_status' }, code),
      createElement(
        'td',
        { className: 'response-col_description' },
        createElement('button', toggle, response.get('description')),
      ),
    );
    return createElement(Fragment, null, line, open && createElement(Response, props));
  };
  return { wrapComponents: { response: wrap } };
}

/** Shows the integers of a JSON response with all their digits; Swagger UI itself rounds them to doubles. */
function showExactIntegers({ React: { createElement } }) {
  const wrap = (ResponseBody) => (props) => {
    const { content, contentType, getComponent } = props;
    if (typeof content !== 'string' || !/json/i.test(contentType)) return createElement(ResponseBody, props);
    const code = { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true };
    return createElement(
      'div',
      null,
      createElement('h5', null, 'Response body'),
      createElement(
        getComponent('HighlightCode', true),
        code,
        /ndjson/i.test(contentType) ? content : indented(content),
      ),
    );
  };
  return { wrapComponents: { responseBody: wrap } };
}

/** The text itself if it is not JSON, or if the browser is too old for `source`. */
function indented(text) {
  const exact = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
  try {
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
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
  plugins: [bringResponseIntoView, foldErrors, showExactIntegers],
});
