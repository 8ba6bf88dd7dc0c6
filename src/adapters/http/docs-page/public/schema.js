import { element, prose, styled } from './element.js'
import { describeLimits } from './limits.js'
import { resolved, withoutNull } from './reference.js'
import { listVariants, variantName } from './variants.js'

const MAX_DEPTH = 5

/** Returns the fields of a schema, or its type when it has none. */
export function schemaView(api, schema, depth = 0) {
  return fieldsView(api, schema, depth) ?? styled('p', 'type', describeType(api, schema))
}

/** Returns the parameters of an operation as a list, with their types, limits and defaults. */
export function parametersView(api, parameters) {
  const items = parameters.map(({ name, in: location, required, schema }) =>
    item(name, [`${location}, ${describeType(api, schema)}`, ...notes(schema, required)]),
  )
  return element('ul', { className: 'fields' }, items)
}

/** Returns the fields of a schema, with those of nested objects below them, and the variants of a union by name. */
function fieldsView(api, schema, depth) {
  const own = withoutNull(api, schema)
  const inner = own.type === 'array' ? withoutNull(api, own.items) : own
  if (depth > MAX_DEPTH) return null
  const variants = listVariants(api, inner)
  if (variants.length > 0) return variantsView(api, variants, depth)
  // The parts of an intersection are one object.
  const parts = [inner, ...(inner.allOf ?? []).map((part) => resolved(api, part))]
  const properties = Object.entries(Object.assign({}, ...parts.map((part) => part.properties)))
  if (properties.length === 0) return null
  const required = parts.flatMap((part) => part.required ?? [])
  const items = properties.map(([name, property]) => {
    const shown = withoutNull(api, property)
    return item(
      name,
      [describeType(api, property), ...notes(resolved(api, property), required.includes(name))],
      shown.description === undefined
        ? null
        : element('div', { className: 'quiet' }, prose(shown.description)),
      fieldsView(api, shown, depth + 1),
    )
  })
  return element('ul', { className: 'fields' }, items)
}

function variantsView(api, variants, depth) {
  const views = variants.map((variant) =>
    element(
      'details',
      { open: depth === 0 },
      element('summary', {}, styled('span', 'name', variantName(api, variant))),
      schemaView(api, variant, depth + 1),
    ),
  )
  return element('div', { className: 'variants' }, styled('p', 'type', 'One of:'), views)
}

function item(name, words, ...content) {
  return element(
    'li',
    {},
    styled('span', 'name', name),
    ' ',
    styled('span', 'type', words.join(' · ')),
    ...content,
  )
}

/** Returns whether a value is optional, and its default, in words. */
function notes(schema, isRequired) {
  return [
    ...(isRequired ? [] : ['optional']),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
}

/** Describes the type of a value in a few words, with its limits. */
export function describeType(api, schema, depth = 0) {
  // A schema may refer to itself.
  if (depth > MAX_DEPTH) return '…'
  const own = resolved(api, schema)
  const next = (other) => describeType(api, other, depth + 1)
  if (own.const !== undefined) return JSON.stringify(own.const)
  if (own.enum !== undefined) return own.enum.map((option) => JSON.stringify(option)).join(' | ')
  const choice = own.anyOf ?? own.oneOf
  const isObject = (one) => resolved(api, one).type === 'object'
  if (choice !== undefined)
    return choice.map((one) => (isObject(one) ? variantName(api, one) : next(one))).join(' | ')
  if (own.type === 'array') return [`list of ${next(own.items ?? {})}`, ...describeLimits(own)].join(', ')
  if (typeof own.additionalProperties === 'object' && own.properties === undefined)
    return `map of ${next(own.additionalProperties)}`
  return [own.type ?? 'anything', ...describeLimits(own)].join(', ')
}
