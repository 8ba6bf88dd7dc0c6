import { literal, parseJson, quotePhp as quote } from './literal.js'

const STYLE = {
  null: 'null',
  true: 'true',
  false: 'false',
  indent: '    ',
  arrow: ' => ',
  text: quote,
  key: quote,
  object: (value) => ({
    // PHP turns such names into numbers, and would write a list.
    open: Object.keys(value).some((name) => /^\d+$/.test(name)) ? '(object) [' : '[',
    close: ']',
    empty: 'new stdClass()',
  }),
}

/** Returns the request as PHP without extensions, which reads the token from `TOKEN`. */
export function phpSample({ method, url, hasToken, body, response }) {
  const headers = [
    ...(hasToken ? ["'Authorization: Bearer ' . getenv('TOKEN')"] : []),
    ...(body === null ? [] : [quote(`Content-Type: ${body.type ?? 'application/json'}`)]),
  ]
  return [
    '<?php',
    '',
    "$context = stream_context_create(['http' => [",
    `    'method' => '${method}',`,
    ...(headers.length === 0
      ? []
      : ["    'header' => [", ...headers.map((one) => `        ${one},`), '    ],']),
    ...(body === null ? [] : [`    'content' => ${bodyExpression(body)},`]),
    ']]);',
    readLine(url, response),
  ].join('\n')
}

function bodyExpression({ file, text }) {
  if (file !== undefined) return `file_get_contents(${quote(file)})`
  const json = parseJson(text)
  return json === null ? quote(text) : `json_encode(${literal(json.value, STYLE, '    ')})`
}

function readLine(url, { kind, file }) {
  const content = `file_get_contents(${quote(url)}, false, $context)`
  return kind === 'file' ? `file_put_contents(${quote(file)}, ${content});` : `echo ${content};`
}
