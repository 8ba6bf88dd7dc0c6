import { element } from './element.js'

/** Without a limit, a form could wait forever and could not be sent again. */
const WAIT_MS = 60_000

/**
 * Creates the form that calls an operation. `tokens` has the token of each security scheme. `useToken` is called with a
 * token from a response.
 */
export function tryIt({ path, method, operation, serverUrl, tokens, useToken }) {
  const scheme = Object.keys(operation.security?.[0] ?? {})[0] ?? null
  const inputs = (operation.parameters ?? []).map((parameter) => {
    const { name, required, schema } = parameter
    const input = element('input', {
      name,
      required: required === true,
      autocomplete: 'off',
      spellcheck: false,
    })
    if (schema.default !== undefined) input.placeholder = String(schema.default)
    return { parameter, input }
  })
  const content = operation.requestBody?.content['application/json']
  const example = JSON.stringify(content?.example ?? {}, null, 2)
  const rows = Math.min(example.split('\n').length, 20)
  const body =
    content === undefined
      ? null
      : element('textarea', { name: 'body', spellcheck: false, rows, value: example })
  const curl = element('pre', { tabIndex: 0 })
  const send = element('button', { type: 'submit', textContent: 'Send' })
  const result = element('div', { role: 'status', className: 'result' })
  const form = element(
    'form',
    { 'aria-label': `Try ${method.toUpperCase()} ${path}` },
    element('h4', { textContent: 'Try it' }),
    inputs.map(({ parameter, input }) =>
      element(
        'label',
        {},
        `${parameter.name} (${parameter.in})${parameter.required ? '' : ', optional'}`,
        input,
      ),
    ),
    body === null ? null : element('label', {}, 'Body', body),
    curl,
    element('div', { className: 'buttons' }, send),
    result,
  )
  form.addEventListener('input', showCurl)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    call()
  })
  let isWaiting = false
  showCurl()
  return form

  function target() {
    let filled = path
    const query = new URLSearchParams()
    for (const { parameter, input } of inputs) {
      if (parameter.in === 'path')
        filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value))
      else if (hasFreeNames(parameter))
        for (const [name, value] of new URLSearchParams(input.value)) query.append(name, value)
      else if (input.value !== '') query.append(parameter.name, input.value)
    }
    return query.size === 0 ? filled : `${filled}?${query}`
  }

  function showCurl() {
    const lines = [`curl -X ${method.toUpperCase()} ${quoted(serverUrl + target())}`]
    if (scheme !== null) lines.push('-H "Authorization: Bearer $TOKEN"')
    if (body !== null) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(compact(body.value))}`)
    curl.textContent = lines.join(' \\\n  ')
  }

  async function call() {
    if (isWaiting) return
    const token = scheme === null ? '' : (tokens[scheme] ?? '')
    isWaiting = true
    // Not disabled, because that would remove the focus.
    send.setAttribute('aria-disabled', 'true')
    result.replaceChildren('Waiting …')
    const beganMs = performance.now()
    try {
      // The origin of this page, whatever address the document has: nothing is sent elsewhere.
      const response = await fetch(new URL(target().slice(1), new URL('.', location.href)), {
        method: method.toUpperCase(),
        headers: {
          ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
          ...(body === null ? {} : { 'Content-Type': 'application/json' }),
        },
        body: body === null ? undefined : body.value,
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(WAIT_MS),
      })
      show(response, await response.text(), performance.now() - beganMs)
    } catch {
      result.replaceChildren(element('p', { className: 'bad', textContent: 'The service did not respond.' }))
    } finally {
      isWaiting = false
      send.removeAttribute('aria-disabled')
    }
  }

  function show(response, text, tookMs) {
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const token = response.ok ? findToken(text) : null
    result.replaceChildren(
      element(
        'p',
        {},
        element('span', {
          className: `status ${response.ok ? 'good' : 'bad'}`,
          textContent: response.status,
        }),
        ` in ${Math.round(tookMs)} ms`,
      ),
      ...(text === ''
        ? []
        : [element('pre', { className: 'response', tabIndex: 0, textContent: pretty(text) })]),
      ...(token === null
        ? []
        : [
            element('button', {
              type: 'button',
              textContent: 'Authorise with this token',
              onclick: () => useToken(token),
            }),
          ]),
      element(
        'details',
        {},
        element('summary', { textContent: 'Headers' }),
        element('pre', { textContent: headers }),
      ),
    )
  }
}

function findToken(text) {
  try {
    const { token } = JSON.parse(text)
    return typeof token === 'string' ? token : null
  } catch {
    return null
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Whether the parameter is any number of named values, such as `a=1&b=2`, without its own name. */
function hasFreeNames({ in: place, explode, schema }) {
  return place === 'query' && explode === true && schema.type === 'object'
}
