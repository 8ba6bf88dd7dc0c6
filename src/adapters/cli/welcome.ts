import { quoted } from './quoted.ts'

/** What every welcome tells. */
interface Start {
  /** Base address without a slash at its end, such as `http://127.0.0.1:3000`. */
  readonly url: string
  /** Null where the database is not the embedded one. */
  readonly dataDir: string | null
  /** What an operator types before the words of a command. */
  readonly command: string
}

/** What the welcome of a first start tells. */
export interface FirstStart extends Start {
  readonly dataDir: string
  readonly demo: { readonly email: string; readonly password: string }
}

/** The welcome of the first start on a fresh embedded database: the one text that ever shows a password. */
export function firstWelcome({ url, dataDir, demo, command }: FirstStart): string {
  return `
  Latchkey is running at ${url}

    data       ${dataDir}
    customer   ${demo.email}
    password   ${demo.password}   (made for this database, shown only now)

  Log in, ask who you are, log out: paste this into another terminal.

${indented(firstSteps(url, demo))}

${listed([
  [`${command} customer add <email>`, 'adds a customer of your own'],
  [`${command} --help`, 'tells the other commands'],
  ['Ctrl-C', 'stops the service and its database'],
])}
`
}

/** The welcome of every later start. */
export function laterWelcome({ url, dataDir, command }: Start): string {
  return `
  Latchkey is running at ${url}
${dataDir === null ? '' : `\n    data       ${dataDir}\n`}
${listed([
  [`${command} customer add <email>`, 'adds a customer'],
  [`${command} --help`, 'tells the other commands (see README.md)'],
  ['Ctrl-C', `stops the service${dataDir === null ? '' : ' and its database'}`],
])}
`
}

/** Lines for a POSIX shell with curl: log in and keep the token, ask who one is, log out. */
export function firstSteps(url: string, { email, password }: FirstStart['demo']): string {
  return `TOKEN=$(curl -sS ${quoted(`${url}/api/login`)} \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify({ email, password }))} |
  sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
curl -sS -w '\\n' -X POST ${quoted(`${url}/api/me`)} \\
  -H "Authorization: Bearer $TOKEN"
curl -sS -w '\\n' -X POST ${quoted(`${url}/api/logout`)} \\
  -H "Authorization: Bearer $TOKEN"`
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}

/** What is typed, and in a column behind it what that does. */
function listed(lines: readonly (readonly [typed: string, does: string])[]): string {
  const width = Math.max(...lines.map(([typed]) => typed.length))
  return lines.map(([typed, does]) => `  ${typed.padEnd(width)}   ${does}\n`).join('')
}
