import { copyable } from './copy.js'
import { element, styled } from './element.js'
import { parseJson } from './literal.js'
import { fileName } from './request.js'

/** Longer texts are only offered as a file. */
const MAX_SHOWN_BYTES = 100_000

/** Returns the views of a response: its status, its body as a text or as a download, and its headers. */
export async function resultView({ response, content, path, tookMs }, useToken) {
  if (response.type === 'opaqueredirect')
    return [element('p', { textContent: 'The service redirects. Browsers do not show a page where to.' })]
  const type = response.headers.get('content-type') ?? ''
  const isJson = /\bjson\b/.test(type)
  const isShown = (isJson || type.startsWith('text/')) && content.size <= MAX_SHOWN_BYTES
  const text = isShown ? await content.text() : ''
  const json = isJson ? parseJson(text) : null
  const token = response.ok ? json?.value?.token : undefined
  return [
    statusLine(response, tookMs),
    ...(content.size === 0 || (isJson && isShown)
      ? []
      : [downloadLink(response, content, fileName(path, type))]),
    ...(text === ''
      ? []
      : [copyable('the response', json === null ? text : JSON.stringify(json.value, null, 2), 'response')]),
    ...(typeof token === 'string' ? [authoriseButton(token, useToken)] : []),
    headersView(response),
  ]
}

/** Returns the view of a request without a response. */
export function failedView() {
  return styled('p', 'bad', 'The service did not respond.')
}

function statusLine({ ok, status }, tookMs) {
  const badge = styled('span', `status ${ok ? 'good' : 'bad'}`, status)
  return element('p', {}, badge, ` in ${Math.round(tookMs)} ms`)
}

function downloadLink(response, content, name) {
  const [, own] = /filename="?([^";]+)"?/.exec(response.headers.get('content-disposition') ?? '') ?? []
  const download = own ?? name
  const textContent = `Download ${download} (${Math.ceil(content.size / 1000)} kB)`
  return element('p', {}, element('a', { href: URL.createObjectURL(content), download, textContent }))
}

function authoriseButton(token, useToken) {
  return element('button', {
    type: 'button',
    textContent: 'Authorise with this token',
    onclick: () => useToken(token),
  })
}

function headersView({ headers }) {
  const text = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  return element(
    'details',
    {},
    element('summary', { textContent: 'Headers' }),
    element('pre', { tabIndex: 0, textContent: text }),
  )
}
