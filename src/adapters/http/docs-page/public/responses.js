import { copyable } from './copy.js'
import { element, paragraphs, prose, styled } from './element.js'
import { resolved } from './reference.js'
import { schemaView } from './schema.js'

const JSON_TYPE = 'application/json'

/** Returns the responses of an operation, its failures collapsed. */
export function responsesView(api, responses) {
  const all = responses.map(([status, response]) => ({ status, ...resolved(api, response) }))
  const isFailure = ({ status }) => !/^[23]/.test(status)
  const failures = all.filter(isFailure)
  const statuses = styled('span', 'quiet', failures.map(({ status }) => status).join(', '))
  return [
    ...all.filter((response) => !isFailure(response)).map((response) => successView(api, response)),
    element('details', {}, element('summary', {}, 'Failures: ', statuses), failures.map(failureView)),
  ]
}

function successView(api, { status, description, content = {}, headers = {} }) {
  const { [JSON_TYPE]: json, ...others } = content
  const { 'X-Request-Id': _, ...own } = headers
  const words = (title, names) =>
    names.length === 0 ? null : styled('p', 'type', `${title}: ${names.join(', ')}`)
  return element(
    'details',
    { open: true },
    element('summary', {}, styled('span', 'status good', status), ' ', description),
    words('Bytes', Object.keys(others)),
    words('Headers', Object.keys(own)),
    json === undefined ? null : schemaView(api, json.schema),
    json?.example === undefined ? null : lazyDetails(['Example'], () => [exampleView(json.example)]),
  )
}

function failureView({ status, description, content = {} }) {
  const { schema, examples = {} } = content[JSON_TYPE] ?? {}
  const reasons = schema?.allOf?.at(-1).properties?.reason?.enum
  const title =
    reasons === undefined ? description : prose(reasons.map((reason) => `\`${reason}\``).join(', '))
  return lazyDetails([styled('span', 'status bad', status), ' ', title].flat(), () => [
    ...paragraphs(description, 'quiet'),
    ...Object.values(examples).map(({ value }) => exampleView(value)),
  ])
}

function exampleView(value) {
  return copyable('the example', JSON.stringify(value, null, 2), 'example')
}

/** Creates details whose content is created when they open for the first time. */
function lazyDetails(title, content) {
  const details = element('details', {}, element('summary', {}, title))
  details.addEventListener('toggle', () => details.append(...content()), { once: true })
  return details
}
