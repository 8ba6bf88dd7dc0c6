import { literal, parseJson } from './literal.js'

/** A text of JSON is also one of Python. */
const quote = (text) => JSON.stringify(text)

const STYLE = {
  null: 'None',
  true: 'True',
  false: 'False',
  indent: '    ',
  arrow: ': ',
  text: quote,
  key: quote,
  object: () => ({ open: '{', close: '}', empty: '{}' }),
}

/** Returns the request as Python with its standard library, which reads the token from `TOKEN`. */
export function pythonSample({ method, url, hasToken, body, response }) {
  const json = body?.text === undefined ? null : parseJson(body.text)
  const hasFiles = body?.file !== undefined || response.kind === 'file'
  const modules = [
    ...(json === null ? [] : ['json']),
    ...(hasToken ? ['os'] : []),
    ...(hasFiles ? ['pathlib'] : []),
    'urllib.request',
  ]
  const headers = [
    ...(hasToken ? [`"Authorization": f"Bearer {os.environ['TOKEN']}"`] : []),
    ...(body === null ? [] : [`"Content-Type": ${quote(body.type ?? 'application/json')}`]),
  ]
  return [
    ...modules.map((name) => `import ${name}`),
    '',
    'request = urllib.request.Request(',
    `    ${quote(url)},`,
    `    method="${method}",`,
    ...(headers.length === 0 ? [] : ['    headers={', ...headers.map((one) => `        ${one},`), '    },']),
    ...(body === null ? [] : [`    data=${bodyExpression(body, json)},`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    ...readLines(response),
  ].join('\n')
}

function bodyExpression({ file, text }, json) {
  if (file !== undefined) return `pathlib.Path(${quote(file)}).read_bytes()`
  return json === null
    ? `${quote(text)}.encode()`
    : `json.dumps(${literal(json.value, STYLE, '    ')}).encode()`
}

function readLines({ kind, file }) {
  if (kind === 'file')
    return [`    pathlib.Path(${quote(file)}).write_bytes(response.read())`, '    print(response.status)']
  return [`    print(response.status${kind === 'json' ? ', response.read().decode()' : ''})`]
}
