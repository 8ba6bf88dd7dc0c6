import { useToken } from './authorise.js'
import { bodyInput } from './body-input.js'
import { element } from './element.js'
import { parameterInput } from './parameter-input.js'
import { createRequest } from './request.js'
import { failedView, resultView } from './result.js'
import { sampleView } from './sample-view.js'
import { send } from './send.js'

/** Creates the form that calls an operation, with the sample of the same request. */
export function tryIt(api, operation) {
  const { id, path, method, parameters } = operation
  const inputs = parameters.map((parameter) => parameterInput(api, parameter))
  const body = bodyInput(api, operation)
  const sample = sampleView(id)
  const button = element('button', { type: 'submit', textContent: 'Send' })
  const result = element('div', { role: 'status', className: 'result' })
  const form = element(
    'form',
    { 'aria-label': `Try ${method.toUpperCase()} ${path}` },
    element('h4', { textContent: 'Try it' }),
    inputs.map(({ view }) => view),
    body === null ? null : body.view,
    sample.view,
    element('div', { className: 'buttons' }, button),
    result,
  )
  const valuesFor = (parameter) => inputs[parameters.indexOf(parameter)].values()
  const showSample = () =>
    sample.show(createRequest(operation, { valuesFor, body: body === null ? null : body.described() }))
  let isWaiting = false
  showSample()
  form.addEventListener('input', showSample)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (!isWaiting) call()
  })
  return form

  async function call() {
    isWaiting = true
    // Not disabled, because that would remove the focus.
    button.setAttribute('aria-disabled', 'true')
    result.replaceChildren('Waiting …')
    try {
      const response = await send(operation, valuesFor, body === null ? null : body.content())
      result.replaceChildren(...(await resultView(response, useToken)))
    } catch {
      result.replaceChildren(failedView())
    } finally {
      isWaiting = false
      button.removeAttribute('aria-disabled')
    }
  }
}
