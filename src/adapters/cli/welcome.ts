import { quote } from './quote.ts'

/** The contents of every welcome text. */
interface Start {
  /** Base address without a trailing slash, such as `http://127.0.0.1:3000`. */
  readonly url: string
  /** The bound address, if clients use another one. */
  readonly address?: string
  /** Whether the service has a docs page. */
  readonly hasDocs?: boolean
  /** Null when the database is not the embedded one. */
  readonly dataDir: string | null
  /** What an operator types before a command. */
  readonly command: string
}

/** The contents of the welcome text at the first start. */
export interface FirstStart extends Start {
  readonly dataDir: string
  readonly demo: { readonly email: string; readonly password: string }
}

/** Returns the welcome text at the first start on a new embedded database: the only text that shows a password. */
export function firstWelcome({ demo, ...start }: FirstStart): string {
  const { url, command } = start
  return `
  Latchkey is running at ${url}

${formatFacts(start)}    customer   ${demo.email}
    password   ${demo.password}   (created for this database, shown only now)

  Log in, ask who you are, log out, and see that the token is refused: paste
  this into another terminal.

${indented(firstSteps(url, demo))}

${formatCommands([
  [`${command} customer add <email>`, 'adds a customer of your own'],
  [`${command} --help`, 'lists the other commands'],
  ['Ctrl-C', 'stops the service and its database'],
])}
`
}

/** Returns the welcome text at every later start. */
export function laterWelcome(start: Start): string {
  const { url, dataDir, command } = start
  const facts = formatFacts(start)
  return `
  Latchkey is running at ${url}
${facts === '' ? '' : `\n${facts}`}
${formatCommands([
  [`${command} customer add <email>`, 'adds a customer'],
  [`${command} --help`, 'lists the other commands (see README.md)'],
  ['Ctrl-C', `stops the service${dataDir === null ? '' : ' and its database'}`],
])}
`
}

function formatFacts({ url, address = url, hasDocs = false, dataDir }: Start): string {
  return [
    hasDocs ? `    docs       ${url}/docs\n` : '',
    address === url ? '' : `    listening  ${address}\n`,
    dataDir === null ? '' : `    data       ${dataDir}\n`,
  ].join('')
}

/**
 * Returns lines for a POSIX shell with curl: log in and store the token, call `/api/me`, log out, and call `/api/me` with
 * the revoked token.
 */
export function firstSteps(url: string, { email, password }: FirstStart['demo']): string {
  const me = `curl -sS -w '\\n' -X POST ${quote(`${url}/api/me`)} \\
  -H "Authorization: Bearer $TOKEN"`
  return `TOKEN=$(curl -sS ${quote(`${url}/api/login`)} \\
  -H 'Content-Type: application/json' \\
  -d ${quote(JSON.stringify({ email, password }))} |
  sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
${me}
curl -sS -w '\\n' -X POST ${quote(`${url}/api/logout`)} \\
  -H "Authorization: Bearer $TOKEN"
${me}`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}

/** Formats commands and their descriptions in two columns. */
function formatCommands(lines: readonly (readonly [typed: string, does: string])[]): string {
  const width = Math.max(...lines.map(([typed]) => typed.length))
  return lines.map(([typed, does]) => `  ${typed.padEnd(width)}   ${does}\n`).join('')
}
