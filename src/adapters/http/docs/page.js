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

const response = await fetch('openapi.json');
SwaggerUIBundle({
  domNode: document.getElementById('reference'),
  spec: withThisServer(await response.json()),
  docExpansion: 'full',
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  plugins: [bringResponseIntoView, foldErrors],
});
