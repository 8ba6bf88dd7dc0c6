import { element } from './element.js'
import { withoutNull } from './reference.js'
import { findExample } from './request.js'

/** Creates the input of a parameter: a choice for an enum, a line for each item of a list, or a text. */
export function parameterInput(api, parameter) {
  const { name, in: location, required, schema } = parameter
  const own = withoutNull(api, schema)
  const options = own.enum ?? (own.type === 'boolean' ? [true, false] : null)
  const common = { name, required: required === true }
  const input =
    options !== null
      ? choice(common, options, own)
      : own.type === 'array'
        ? lines(common)
        : text(common, findExample(parameter))
  const hint = own.type === 'array' ? ', one on each line' : ''
  const label = `${name} (${location})${required ? '' : ', optional'}${hint}`
  return { view: element('label', {}, label, input), values }

  /** Returns the entered values as texts. */
  function values() {
    return input.value === ''
      ? []
      : own.type === 'array'
        ? input.value.split('\n').filter(Boolean)
        : [input.value]
  }
}

/** Creates a choice of options. Without a chosen option, nothing is sent. */
export function choice(properties, options, { default: preset } = {}) {
  const none = preset === undefined ? '—' : `— (default ${preset})`
  return element(
    'select',
    properties,
    element('option', { value: '', textContent: none }),
    options.map((option) => element('option', { value: String(option), textContent: String(option) })),
  )
}

function lines(properties) {
  return element('textarea', { ...properties, rows: 2, spellcheck: false })
}

function text(properties, example = '') {
  return element('input', {
    ...properties,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: String(example),
  })
}
