import { element } from './element.js'
import { parseJson } from './literal.js'
import { choice } from './parameter-input.js'
import { withoutNull } from './reference.js'
import { fileName, rawTypes, uploadType } from './request.js'

const MAX_ROWS = 20

/**
 * Creates the input of a body; null without one. `described` returns the body of a sample, and `content` what is sent with its
 * type.
 */
export function bodyInput(api, operation) {
  const types = rawTypes(operation)
  if (types !== null) return fileInput(types)
  const json = operation.requestBody?.content['application/json']
  return json === undefined ? null : jsonInput(api, json)
}

function fileInput(types) {
  const accept = types.includes('*/*') ? '' : types.join(',')
  const input = element('input', { type: 'file', name: 'body', required: true, accept })
  const view = element('label', {}, `File (${types.join(', ').replace('*/*', 'any type')})`, input)
  return {
    view,
    described() {
      const [file] = input.files
      return { file: file?.name ?? fileName('', types[0], 'file'), type: uploadType(types, file?.type) }
    },
    content: () => ({ content: input.files[0], type: uploadType(types, input.files[0].type) }),
  }
}

function jsonInput(api, { schema, example, examples = {} }) {
  const samples = Object.entries(examples)
  const value = JSON.stringify(example ?? samples[0]?.[1].value ?? {}, null, 2)
  const rows = Math.min(value.split('\n').length, MAX_ROWS)
  const input = element('textarea', { name: 'body', spellcheck: false, rows, value })
  const variants = samples.length < 2 ? null : variantChoice(samples, input)
  const view = element(
    'div',
    {},
    variants,
    enumChoices(api, schema, input),
    element('label', {}, 'Body', input),
  )
  return {
    view,
    described: () => ({ text: input.value }),
    content: () => ({ content: input.value, type: 'application/json' }),
  }
}

/** Creates a choice for each enum of the body's fields, which edits the JSON. */
function enumChoices(api, schema, input) {
  const properties = Object.entries(withoutNull(api, schema).properties ?? {})
  return properties
    .map(([name, property]) => [name, withoutNull(api, property)])
    .filter(([, own]) => own.enum !== undefined)
    .map(([name, own]) => {
      const select = choice(
        {
          name,
          onchange() {
            edit(name, own.enum[select.selectedIndex - 1])
            follow()
          },
        },
        own.enum,
        own,
      )
      const follow = () => {
        select.selectedIndex = own.enum.indexOf(parseJson(input.value)?.value?.[name]) + 1
      }
      input.addEventListener('input', follow)
      follow()
      return element('label', {}, `${name} (body)`, select)
    })

  function edit(name, option) {
    const fields = parseJson(input.value)?.value
    if (typeof fields === 'object' && fields !== null) replace(input, { ...fields, [name]: option })
  }
}

function variantChoice(samples, input) {
  const select = element(
    'select',
    { name: 'variant', onchange: () => replace(input, samples[select.selectedIndex][1].value) },
    samples.map(([name]) => element('option', { textContent: name })),
  )
  return element('label', {}, 'Variant', select)
}

function replace(input, value) {
  input.value = JSON.stringify(value, null, 2)
  input.rows = Math.min(input.value.split('\n').length, MAX_ROWS)
  input.dispatchEvent(new Event('input', { bubbles: true }))
}
