import { parseJson, quoteShell } from './literal.js'

/** Returns the request as a command of curl, which reads the token from `TOKEN`. */
export function curlSample({ method, url, hasToken, body, response }) {
  return [
    `curl -X ${method} ${quoteShell(url)}`,
    ...(hasToken ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...bodyLines(body),
    ...(response.kind === 'file' ? [`-o ${quoteShell(response.file)}`] : []),
  ].join(' \\\n  ')
}

function bodyLines(body) {
  if (body === null) return []
  const { file, type = 'application/json', text } = body
  const header = `-H ${quoteShell(`Content-Type: ${type}`)}`
  if (file !== undefined) return [header, `--data-binary ${quoteShell(`@${file}`)}`]
  const json = parseJson(text)
  return [header, `--data-raw ${quoteShell(json === null ? text : JSON.stringify(json.value))}`]
}
