import { literal, parseJson, quoteJavaScript as quote } from './literal.js'

const STYLE = {
  null: 'null',
  true: 'true',
  false: 'false',
  indent: '  ',
  arrow: ': ',
  text: quote,
  // Without the brackets, this name would set the prototype.
  key: (name) =>
    name === '__proto__' ? "['__proto__']" : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name),
  object: () => ({ open: '{', close: '}', empty: '{}' }),
}

/** Returns the request as TypeScript for Node, which reads the token from `TOKEN`. */
export function typescriptSample({ method, url, hasToken, body, response }) {
  const headers = [
    ...(hasToken ? [`Authorization: \`Bearer \${process.env.TOKEN}\``] : []),
    ...(body === null ? [] : [`'Content-Type': ${quote(body.type ?? 'application/json')}`]),
  ]
  const functions = [
    ...(body?.file === undefined ? [] : ['readFile']),
    ...(response.kind === 'file' ? ['writeFile'] : []),
  ]
  return [
    ...(functions.length === 0 ? [] : [`import { ${functions.join(', ')} } from 'node:fs/promises'`, '']),
    `const response = await fetch(${quote(url)}, {`,
    `  method: '${method}',`,
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers.map((header) => `    ${header},`), '  },']),
    ...(body === null ? [] : [`  body: ${bodyExpression(body)},`]),
    '})',
    ...readLines(response),
  ].join('\n')
}

function bodyExpression({ file, text }) {
  if (file !== undefined) return `await readFile(${quote(file)})`
  const json = parseJson(text)
  return json === null ? quote(text) : `JSON.stringify(${literal(json.value, STYLE, '  ')})`
}

function readLines({ kind, file }) {
  if (kind === 'file')
    return [
      `await writeFile(${quote(file)}, new Uint8Array(await response.arrayBuffer()))`,
      'console.log(response.status)',
    ]
  return [`console.log(response.status${kind === 'json' ? ', await response.json()' : ''})`]
}
