const EXTENSIONS = { plain: 'txt', jpeg: 'jpg', 'octet-stream': 'bin', '*': 'bin', javascript: 'js' }

/**
 * Returns the request that a sample shows. `valuesFor` returns the entered values of a parameter; a required parameter
 * without any gets its example. `body` is the JSON text, or the name and type of the file to send; null for none.
 */
export function createRequest(operation, { valuesFor, body }) {
  const { method, path, parameters, scheme, serverUrl } = operation
  const values = (parameter) => {
    const entered = valuesFor(parameter)
    return entered.length === 0 && parameter.required
      ? [String(findExample(parameter) ?? parameter.name)]
      : entered
  }
  return {
    method: method.toUpperCase(),
    url: serverUrl + fillPath(path, parameters, values),
    hasToken: scheme !== null,
    body,
    response: responseKind(operation),
  }
}

/** Returns the path with its parameters and the query. `valuesFor` returns the values of a parameter as texts. */
export function fillPath(path, parameters, valuesFor) {
  let filled = path
  const query = new URLSearchParams()
  for (const parameter of parameters) {
    const { name, in: location } = parameter
    const values = valuesFor(parameter)
    if (location === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(values[0] ?? ''))
    else if (hasFreeNames(parameter))
      for (const [key, value] of new URLSearchParams(values[0])) query.append(key, value)
    else for (const value of values) query.append(name, value)
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}

/** Returns the media types of a body that is not JSON; null for another body and for none. */
export function rawTypes({ requestBody }) {
  const types = Object.keys(requestBody?.content ?? {})
  return types.length === 0 || types.includes('application/json') ? null : types
}

/** Returns the type to send a file with: its own if it is accepted, else the first accepted one. */
export function uploadType(accepted, own = '') {
  const fits = (type) =>
    type === '*/*' || type === own || (type.endsWith('/*') && own.startsWith(type.slice(0, -1)))
  if (own !== '' && accepted.some(fits)) return own
  return accepted.find((type) => !type.includes('*')) ?? 'application/octet-stream'
}

/** Returns the name of a downloaded file: the one of the path, or one with the extension of its media type. */
export function fileName(path, type, base = 'download') {
  const [last = ''] = path.split('?')[0].split('/').slice(-1)
  if (/^[\w-]+(\.[\w-]+)+$/.test(last)) return last
  const subtype = type.split(';')[0].split('/')[1]?.split('+')[0] ?? ''
  return `${base}.${EXTENSIONS[subtype] ?? (/^\w{2,5}$/.test(subtype) ? subtype : 'bin')}`
}

/** Returns how a sample reads a success: as `json`, as a file, or not at all. */
function responseKind({ path, responses }) {
  const [, success] = Object.entries(responses).find(([status]) => /^2/.test(status)) ?? []
  const [type] = Object.keys(success?.content ?? {})
  if (type === undefined) return { kind: 'none' }
  return type === 'application/json' ? { kind: 'json' } : { kind: 'file', file: fileName(path, type) }
}

/** Returns the example of a parameter, or a value that its schema names; undefined for none. */
export function findExample({ example, schema }) {
  return example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? schema.const
}

/** Whether the parameter is any number of named values, such as `a=1&b=2`, without its own name. */
function hasFreeNames({ in: location, explode, schema }) {
  return location === 'query' && explode === true && schema.type === 'object'
}
