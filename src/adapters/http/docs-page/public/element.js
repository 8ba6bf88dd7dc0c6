/** Creates an element with its properties and children. Texts never become markup. */
export function element(name, properties = {}, ...children) {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role' || key === 'for') created.setAttribute(key, value)
    else created[key] = value
  }
  created.append(...children.flat().filter((child) => child !== null))
  return created
}

/** Returns a text, with the words between backticks as code. */
export function prose(text) {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : element('code', { textContent: part })))
}
