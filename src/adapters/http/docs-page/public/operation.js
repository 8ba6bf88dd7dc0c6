import { callerName } from './authorise.js'
import { element, paragraphs, prose, routeName, styled } from './element.js'
import { responsesView } from './responses.js'
import { parametersView, schemaView } from './schema.js'
import { tryIt } from './try-it.js'

/** Returns the article of an operation: its description, and the form that calls it. */
export function operationView(api, operation) {
  const { id, summary, description, parameters, requestBody, responses } = operation
  const title = element('h3', { id: `${id}-title` }, element('a', { href: `#${id}` }, routeName(operation)))
  const header = element(
    'header',
    {},
    title,
    summary === undefined ? null : element('p', {}, prose(`${summary}.`)),
    description === undefined ? null : paragraphs(description, 'quiet'),
    accessView(operation),
  )
  const facts = element(
    'div',
    {},
    parameters.length === 0 ? null : [heading('Parameters'), parametersView(api, parameters)],
    requestBody === undefined ? null : [heading('Body'), bodyView(api, requestBody)],
    heading('Responses'),
    responsesView(api, Object.entries(responses)),
  )
  const properties = { id, className: 'card operation', 'aria-labelledby': `${id}-title` }
  return element('article', properties, header, facts, tryIt(api, operation))
}

function accessView({ scheme, 'x-abilities': abilities, 'x-scopes': scopes }) {
  const words = [callerName(scheme), ...(abilities ?? scopes ?? [])]
  return element(
    'p',
    { className: 'chips' },
    words.map((word) => styled('span', 'chip', word)),
  )
}

function heading(text) {
  return element('h4', { textContent: text })
}

function bodyView(api, { content }) {
  const json = content['application/json']
  if (json !== undefined) return schemaView(api, json.schema)
  return styled('p', 'type', `Bytes: ${Object.keys(content).join(', ').replace('*/*', 'any type')}`)
}
