import { element, prose } from './element.js'

/** Returns the value that a `$ref` of the document refers to, or the value itself. */
export function resolved(document, value) {
  let found = value
  for (let hops = 0; found?.$ref !== undefined && hops < 8; hops++) {
    found = found.$ref
      .slice(2)
      .split('/')
      .reduce((node, key) => node?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  }
  return found ?? {}
}

/** Returns the fields of a schema as a list, with the fields of nested objects below them. */
export function describeFields(document, schema, depth = 0) {
  const own = resolved(document, schema)
  const inner = own.type === 'array' ? resolved(document, own.items) : own
  const properties = Object.entries(inner.properties ?? {})
  if (properties.length === 0 || depth > 5) return null
  return element(
    'ul',
    { className: 'fields' },
    properties.map(([name, property]) =>
      describeField(name, property, inner.required?.includes(name) === true),
    ),
  )

  function describeField(name, property, isRequired) {
    const shown = withoutNull(document, property)
    return element(
      'li',
      {},
      element('span', { className: 'name', textContent: name }),
      ' ',
      element(
        'span',
        { className: 'type' },
        describeType(document, property),
        isRequired ? '' : ' · optional',
      ),
      shown.description === undefined
        ? null
        : element('div', { className: 'quiet' }, prose(shown.description)),
      describeFields(document, shown, depth + 1),
    )
  }
}

/** Describes the type of a value in a few words, with its bounds. */
export function describeType(document, schema, depth = 0) {
  // A schema may refer to itself.
  if (depth > 5) return '…'
  const own = resolved(document, schema)
  if (own.const !== undefined) return JSON.stringify(own.const)
  if (own.enum !== undefined) return own.enum.map((word) => JSON.stringify(word)).join(' | ')
  const choice = own.anyOf ?? own.oneOf
  if (choice !== undefined) return choice.map((one) => describeType(document, one, depth + 1)).join(' | ')
  if (own.type === 'array') return `list of ${describeType(document, own.items, depth + 1)}`
  const bounds = [
    own.format,
    own.pattern === undefined ? undefined : `/${own.pattern}/`,
    own.minimum === undefined ? undefined : `≥ ${own.minimum}`,
    own.maximum === undefined ? undefined : `≤ ${own.maximum}`,
    own.minLength === undefined ? undefined : `length ≥ ${own.minLength}`,
    own.maxLength === undefined ? undefined : `length ≤ ${own.maxLength}`,
  ].filter((bound) => bound !== undefined)
  return [own.type ?? 'anything', ...bounds].join(', ')
}

function withoutNull(document, schema) {
  const own = resolved(document, schema)
  const others = own.anyOf?.filter(({ type }) => type !== 'null')
  return others?.length === 1 ? resolved(document, others[0]) : own
}
