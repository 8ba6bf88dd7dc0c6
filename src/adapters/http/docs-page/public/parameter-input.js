import { element } from './element.js'
import { withoutNull } from './reference.js'

/** Creates the input of a parameter: a choice for an enum, a line for each item of a list, or a text. */
export function parameterInput(api, { name, in: place, required, schema }) {
  const own = withoutNull(api, schema)
  const words = own.enum ?? (own.type === 'boolean' ? [true, false] : null)
  const common = { name, required: required === true }
  const input =
    words !== null ? choice(common, words, own) : own.type === 'array' ? lines(common) : text(common, schema)
  const hint = own.type === 'array' ? ', one on each line' : ''
  const label = `${name} (${place})${required ? '' : ', optional'}${hint}`
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

/** Creates a choice of words. Without a chosen word, nothing is sent. */
export function choice(properties, words, { default: preset } = {}) {
  const none = preset === undefined ? '—' : `— (default ${preset})`
  return element(
    'select',
    properties,
    element('option', { value: '', textContent: none }),
    words.map((word) => element('option', { value: String(word), textContent: String(word) })),
  )
}

function lines(properties) {
  return element('textarea', { ...properties, rows: 2, spellcheck: false })
}

function text(properties, schema) {
  const shown = schema.default ?? schema.examples?.[0]
  return element('input', {
    ...properties,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: shown === undefined ? '' : String(shown),
  })
}
