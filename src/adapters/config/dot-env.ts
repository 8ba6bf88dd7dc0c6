import { isUtf8 } from 'node:buffer'
import type { ConfigurationProblem } from './configuration-refused.ts'

/** The content of a `.env` file. Each invalid line is a problem; the valid lines are still read. */
export interface DotEnv {
  readonly variables: ReadonlyMap<string, string>
  readonly problems: readonly ConfigurationProblem[]
}

const LINE_BREAK = /\r\n|\n|\r/u
const NAME = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=(.*)$/su
const BLANK_OR_COMMENT = /^[ \t]*(?:#|$)/u
const QUOTED = /^[ \t]*(["'`])((?:(?!\1).)*)\1[ \t]*(?:#.*)?$/su
const MAX_PROBLEMS = 20

/**
 * Parses a `.env` file strictly: a line is blank, a `#` comment, or `NAME=value`, optionally after `export`. A value
 * may be quoted, on one line, without escape sequences. A comment after an unquoted value begins with a space. The last
 * assignment of a name applies. No problem repeats a line, because it may contain a secret.
 *
 * node's `parseEnv` is not used: depending on its version, it joins a line without `=` to the next one, or skips it.
 */
export function parseDotEnv(text: string): DotEnv {
  const variables = new Map<string, string>()
  const problems: ConfigurationProblem[] = []
  const lines = text.replace(/^\ufeff/u, '').split(LINE_BREAK)
  for (const [index, line] of lines.entries()) {
    if (BLANK_OR_COMMENT.test(line)) continue
    const [, name, rest = ''] = NAME.exec(line) ?? []
    const result = name === undefined ? 'is not NAME=value, a # comment or blank.' : parseValue(rest)
    if (typeof result === 'string') problems.push(problemAt(index + 1, result))
    else if (name !== undefined) variables.set(name, result.value)
  }
  return { variables, problems: problems.slice(0, MAX_PROBLEMS) }
}

/** Decodes a `.env` file. Returns the problem of its first line that is not UTF-8 text, as in UTF-16. */
export function decodeDotEnv(bytes: Uint8Array): string | ConfigurationProblem {
  // Latin-1 maps each byte to one character and back. UTF-16 without a byte-order mark is UTF-8 with NUL characters.
  const lines = Buffer.from(bytes).toString('latin1').split(LINE_BREAK)
  const wrong = lines.findIndex((line) => line.includes('\0') || !isUtf8(Buffer.from(line, 'latin1')))
  if (wrong === -1) return new TextDecoder().decode(bytes)
  return problemAt(wrong + 1, 'is not UTF-8 text. Save the file as UTF-8.')
}

/** Returns the value, or a predicate that completes "Line 3 …". */
function parseValue(text: string): { readonly value: string } | string {
  if (/^[ \t]*["'`]/u.test(text)) {
    const [, quote, value = ''] = QUOTED.exec(text) ?? []
    if (quote === undefined) return 'has a quoted value that does not end with the same quote on that line.'
    if (quote === '"' && value.includes('\\'))
      return 'has a backslash between double quotes; use single quotes, in which it stands for itself.'
    return { value }
  }
  const value = text.replace(/[ \t]#.*$/su, '').replace(/^[ \t]+|(?<![ \t])[ \t]+$/gu, '')
  if (value.includes('#'))
    return 'has a # in its value: put the value between quotes, or a space before the comment.'
  return { value }
}

function problemAt(line: number, predicate: string): ConfigurationProblem {
  return { name: '.env', problem: `Line ${line} ${predicate}`, example: 'PORT=3000' }
}
