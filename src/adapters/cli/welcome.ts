import { quote } from './quote.ts'

/** The contents of every welcome text. */
interface Start {
  /** Base address without a trailing slash, such as `http://127.0.0.1:3000`. */
  readonly url: string
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
export function firstWelcome({ url, dataDir, demo, command }: FirstStart): string {
  return `
  Latchkey is running at ${url}

    data       ${dataDir}
    customer   ${demo.email}
    password   ${demo.password}   (created for this database, shown only now)

  Log in, ask who you are, log out: paste this into another terminal.

${indented(firstSteps(url, demo))}

${formatCommands([
  [`${command} customer add <email>`, 'adds a customer of your own'],
  [`${command} --help`, 'lists the other commands'],
  ['Ctrl-C', 'stops the service and its database'],
])}
`
}

/** Returns the welcome text at every later start. */
export function laterWelcome({ url, dataDir, command }: Start): string {
  return `
  Latchkey is running at ${url}
${dataDir === null ? '' : `\n    data       ${dataDir}\n`}
${formatCommands([
  [`${command} customer add <email>`, 'adds a customer'],
  [`${command} --help`, 'lists the other commands (see README.md)'],
  ['Ctrl-C', `stops the service${dataDir === null ? '' : ' and its database'}`],
])}
`
}

/** Returns lines for a POSIX shell with curl: log in and store the token, call `/api/me`, log out. */
export function firstSteps(url: string, { email, password }: FirstStart['demo']): string {
  return `TOKEN=$(curl -sS ${quote(`${url}/api/login`)} \\
  -H 'Content-Type: application/json' \\
  -d ${quote(JSON.stringify({ email, password }))} |
  sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
curl -sS -w '\\n' -X POST ${quote(`${url}/api/me`)} \\
  -H "Authorization: Bearer $TOKEN"
curl -sS -w '\\n' -X POST ${quote(`${url}/api/logout`)} \\
  -H "Authorization: Bearer $TOKEN"`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}

/** Formats commands and their descriptions in two columns. */
function formatCommands(lines: readonly (readonly [typed: string, does: string])[]): string {
  const width = Math.max(...lines.map(([typed]) => typed.length))
  return lines.map(([typed, does]) => `  ${typed.padEnd(width)}   ${does}\n`).join('')
}
