import { element, prose } from './element.js'
import { describeFields, describeType, resolved } from './schema.js'
import { tryIt } from './try-it.js'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const CALLERS = { loginToken: 'Login token', serviceToken: 'Service token' }
const tokens = {}

try {
  const response = await fetch('openapi.json')
  if (!response.ok) throw new Error(`The request for openapi.json failed with ${response.status}.`)
  show(await response.json())
} catch (error) {
  byId('description').replaceChildren(`The document cannot be read. ${error.message}`)
}

function show(api) {
  const { title, version, description = '' } = api.info
  document.title = `${title} ${version}`
  byId('title').textContent = `${title} ${version}`
  byId('brand').textContent = title
  byId('server').replaceChildren(element('code', { textContent: api.servers[0].url }))
  byId('description').replaceChildren(...prose(description))
  byId('tokens').replaceChildren(...Object.keys(api.components.securitySchemes).map(tokenField))

  for (const [tag, operations] of byTag(api)) {
    const heading = element('h2', { textContent: tag })
    byId('index').append(heading.cloneNode(true), element('ul', {}, operations.map(indexEntry)))
    byId('operations').append(heading, ...operations.map((one) => article(api, one)))
  }
  // When the page loaded, the element that the address names did not exist yet.
  document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function byTag(api) {
  const groups = new Map()
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS) {
      const operation = item[method]
      if (operation === undefined) continue
      const tag = operation.tags?.[0] ?? 'Other routes'
      groups.set(tag, [...(groups.get(tag) ?? []), { path, method, operation }])
    }
  }
  return groups
}

function indexEntry({ path, method, operation }) {
  return element(
    'li',
    {},
    element(
      'a',
      { href: `#${operation.operationId}` },
      methodBadge(method),
      element('span', { className: 'path', textContent: path }),
    ),
  )
}

function article(api, { path, method, operation }) {
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation
  const schemes = security.flatMap((requirement) => Object.keys(requirement))
  const body = requestBody?.content['application/json'].schema
  return element(
    'article',
    { id: operationId, className: 'card operation', 'aria-labelledby': `${operationId}-title` },
    element(
      'header',
      {},
      element(
        'h3',
        { id: `${operationId}-title` },
        methodBadge(method),
        element('span', { className: 'path', textContent: path }),
      ),
      summary === undefined ? null : element('p', {}, prose(`${summary}.`)),
      description === undefined ? null : element('p', { className: 'quiet' }, prose(description)),
      element(
        'p',
        { className: 'chips' },
        (schemes.length === 0 ? ['Anyone'] : schemes.map((name) => CALLERS[name] ?? name)).map(chip),
        (operation['x-abilities'] ?? operation['x-scopes'] ?? []).map(chip),
      ),
    ),
    element(
      'div',
      {},
      parameters.length === 0
        ? null
        : [element('h4', { textContent: 'Parameters' }), parameterList(api, parameters)],
      body === undefined ? null : [element('h4', { textContent: 'Body' }), schemaView(api, body)],
      element('h4', { textContent: 'Responses' }),
      responsesView(api, Object.entries(responses)),
    ),
    tryIt({ path, method, operation, serverUrl: api.servers[0].url, tokens, useToken }),
  )
}

function parameterList(api, parameters) {
  return element(
    'ul',
    { className: 'fields' },
    parameters.map(({ name, in: place, required, schema }) =>
      element(
        'li',
        {},
        element('span', { className: 'name', textContent: name }),
        ' ',
        element(
          'span',
          { className: 'type' },
          `${place}, ${describeType(api, schema)}${required ? '' : ' · optional'}`,
        ),
      ),
    ),
  )
}

function responsesView(api, responses) {
  const views = (isSuccess) =>
    responses
      .filter(([status]) => status.startsWith('2') === isSuccess)
      .map(([status, response]) => responseView(api, status, response))
  const failures = responses.map(([status]) => status).filter((status) => !status.startsWith('2'))
  return [
    ...views(true),
    element(
      'details',
      {},
      element('summary', {}, 'Failures: ', element('span', { className: 'quiet' }, failures.join(', '))),
      views(false),
    ),
  ]
}

function responseView(api, status, reference) {
  const { description, content } = resolved(api, reference)
  const isSuccess = status.startsWith('2')
  const media = content?.['application/json']
  const reasons = media?.schema.allOf?.at(-1).properties?.reason?.enum
  return element(
    'details',
    { open: isSuccess },
    element(
      'summary',
      {},
      element('span', { className: `status ${isSuccess ? 'good' : 'bad'}`, textContent: status }),
      ' ',
      reasons === undefined ? description : prose(reasons.map((reason) => `\`${reason}\``).join(', ')),
    ),
    isSuccess
      ? (media && schemaView(api, media.schema)) || null
      : description.split('\n\n').map((line) => element('p', { className: 'quiet' }, prose(line))),
  )
}

function schemaView(api, schema) {
  return (
    describeFields(api, schema) ?? element('p', { className: 'type', textContent: describeType(api, schema) })
  )
}

function tokenField(scheme) {
  const input = element('input', {
    name: scheme,
    type: 'password',
    autocomplete: 'off',
    spellcheck: false,
    oninput: () => setToken(scheme, input.value),
  })
  return element('label', {}, CALLERS[scheme] ?? scheme, input)
}

function useToken(token) {
  const input = document.querySelector('input[name=loginToken]')
  input.value = token
  setToken('loginToken', token)
}

function setToken(scheme, token) {
  tokens[scheme] = token.trim()
  const names = Object.keys(tokens).filter((name) => tokens[name] !== '')
  byId('authorised').textContent =
    names.length === 0 ? '' : `Sent from now on: ${names.map((name) => CALLERS[name] ?? name).join(', ')}.`
}

function methodBadge(method) {
  return element('span', { className: `method ${method}`, textContent: method.toUpperCase() })
}

function chip(text) {
  return element('span', { className: 'chip', textContent: text })
}

function byId(id) {
  return document.getElementById(id)
}
