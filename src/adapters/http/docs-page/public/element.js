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

/** Creates an element of a class with a text. */
export function styled(name, className, textContent) {
  return element(name, { className, textContent })
}

/** Returns a text, with the words between backticks as code. */
export function prose(text) {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : element('code', { textContent: part })))
}

/** Returns a paragraph for each part of a text between empty lines. */
export function paragraphs(text, className = '') {
  return text.split('\n\n').map((part) => element('p', { className }, prose(part)))
}

/** Returns the method and the path of an operation. */
export function routeName({ method, path }) {
  return [styled('span', `method ${method}`, method.toUpperCase()), styled('span', 'path', path)]
}
