/**
 * Returns a JSON value as a literal of a programming language. `style` has the language's words (`null`, `true`, `false`),
 * the indent of a level, `text` and `key` for texts and names, the `arrow` after a name, and `object` for the brackets of
 * an object and its text when it is empty.
 */
export function literal(value, style, indent = '') {
  if (value === null || typeof value === 'boolean') return style[value]
  if (typeof value === 'string') return style.text(value)
  if (typeof value !== 'object') return String(value)
  const inner = indent + style.indent
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item) => literal(item, style, inner))
    : Object.entries(value).map(
        ([name, item]) => `${style.key(name)}${style.arrow}${literal(item, style, inner)}`,
      )
  const { open, close, empty } = isList ? { open: '[', close: ']', empty: '[]' } : style.object(value)
  if (items.length === 0) return empty
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`
}

/** Returns the parsed JSON as `{ value }`; null for another text, and when JavaScript would change one of its numbers. */
export function parseJson(text) {
  try {
    const value = JSON.parse(text)
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? []
    return tokens.every((token) => token.startsWith('"') || isExact(token)) ? { value } : null
  } catch {
    return null
  }
}

function isExact(number) {
  return normalized(number) === normalized(String(Number(number)))
}

/** Returns a decimal number as its significant digits and an exponent, so that equal numbers are equal texts. */
function normalized(number) {
  const [, sign, whole, fraction = '', exponent = 0] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? []
  if (whole === undefined) return number
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return `${sign}0`
  return `${sign}${significant}e${exponent - fraction.length + digits.length - significant.length}`
}

/** Returns a text in single quotes, for JavaScript. */
export function quoteJavaScript(text) {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return `'${escaped.replaceAll("'", "\\'")}'`
}

/** Returns a text in single quotes, for a shell. */
export function quoteShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns a text in single quotes, for PHP. */
export function quotePhp(text) {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
