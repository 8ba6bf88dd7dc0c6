import { element } from './element.js'

const SHOWN_MS = 2000

/** Creates a button that copies a text. `subject` completes its name, such as `the sample`. */
export function copyButton(subject, readText) {
  const state = element('span', { textContent: 'Copy' })
  const name = element('span', { className: 'visually-hidden', textContent: ` ${subject}` })
  const button = element(
    'button',
    { type: 'button', className: 'plain copy', 'aria-live': 'polite' },
    state,
    name,
  )
  let timer
  button.addEventListener('click', async () => {
    state.textContent = (await copy(readText(), button)) ? 'Copied' : 'Not copied'
    clearTimeout(timer)
    timer = setTimeout(() => {
      state.textContent = 'Copy'
    }, SHOWN_MS)
  })
  return button
}

/** Returns a text with a button that copies it. */
export function copyable(subject, text, className = '') {
  const pre = element('pre', { className, tabIndex: 0, textContent: text })
  return element(
    'div',
    { className: 'copyable' },
    copyButton(subject, () => pre.textContent),
    pre,
  )
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Browsers have no clipboard for pages without TLS.
    return copyBySelection(text, button)
  }
}

function copyBySelection(text, button) {
  const field = element('textarea', { className: 'visually-hidden', value: text, 'aria-hidden': 'true' })
  button.after(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  button.focus()
  return isCopied
}
