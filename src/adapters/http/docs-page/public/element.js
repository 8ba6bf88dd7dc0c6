/** An element with its properties and children; texts never become markup. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role' || key === 'for') made.setAttribute(key, value)
    else made[key] = value
  }
  made.append(...children.flat().filter((child) => child !== null))
  return made
}

/** A text whose words between backticks are code. */
export function prose(text) {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : element('code', { textContent: part })))
}
