import type { ConfigurationProblem } from './configuration-refused.ts'
import { parseDotEnv } from './dot-env.ts'
import { pairsOfLines } from './service-tokens.ts'
import type { Setting } from './setting.ts'
import { SETTINGS, type SettingName } from './settings.ts'
import { NotSmallFile, readSmallFile } from './small-file.ts'

/** The sources of settings. `env` takes precedence over `dotEnv`. */
export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The text of the `.env` file, or null when there is none. */
  readonly dotEnv: string | null
  /** Returns a file's bytes, or throws as node does. */
  readonly readFile?: (path: string) => Uint8Array
}

/** The text of a setting, and the variable that it was read from. */
export interface Found {
  readonly text: string | null
  readonly from: string
}

/**
 * Returns a function that reads a variable from the environment or, failing that, from the `.env` file. An empty value
 * counts as unset, because a compose file passes an unset variable on as an empty one.
 */
export function readVariables({ env, dotEnv }: Sources): (name: string) => string | undefined {
  const { variables } = parseDotEnv(dotEnv ?? '')
  return (name) => getOwn(env, name) || variables.get(name) || undefined
}

/** Returns a function that returns the source of a variable. */
export function settingOrigins(sources: Sources): (name: string) => 'environment' | '.env' | 'default' {
  const fromEither = readVariables(sources)
  return (name) => {
    if (getOwn(sources.env, name)) return 'environment'
    return fromEither(name) === undefined ? 'default' : '.env'
  }
}

/** Returns the text of every setting, defaults included, and a problem for each that cannot be read. */
export function findSettings(sources: Sources): {
  readonly found: Readonly<Record<SettingName, Found>>
  readonly problems: readonly ConfigurationProblem[]
} {
  const variable = readVariables(sources)
  const problems = [...parseDotEnv(sources.dotEnv ?? '').problems]
  const found = Object.fromEntries(SETTINGS.map((setting) => [setting.name, find(setting)]))
  return { found: found as Record<SettingName, Found>, problems }

  function find(setting: Setting): Found {
    const { name } = setting
    const fileVariable = `${name}_FILE`
    const text = variable(name)
    const path = setting.secret ? variable(fileVariable) : undefined
    if (text !== undefined && path !== undefined)
      return refuse(name, `Is set together with ${fileVariable}; keep one of the two.`, setting)
    if (path !== undefined) return readSecret(fileVariable, path, setting)
    return { text: text ?? setting.default, from: name }
  }

  function readSecret(from: string, path: string, setting: Setting): Found {
    try {
      const bytes = (sources.readFile ?? readSmallFile)(path)
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/[\r\n]+$/, '')
      if (text === '') return refuse(from, 'Names a file that is empty.', setting)
      return { text: setting.name === 'SERVICE_TOKENS' ? pairsOfLines(text) : text, from }
    } catch (error) {
      return refuse(from, fileProblem(error), setting)
    }
  }

  function refuse(from: string, problem: string, setting: Setting): Found {
    problems.push({ name: from, problem, example: exampleAssignment(setting, from) })
    return { text: setting.default, from }
  }
}

/** Returns an accepted assignment of the variable, for messages. */
export function exampleAssignment({ name, example }: Setting, variable: string): string {
  return variable === name ? `${name}=${example}` : `${variable}=/run/secrets/${name.toLowerCase()}`
}

function getOwn(record: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

// The path is not repeated: it may be the secret itself, set in the wrong variable.
function fileProblem(error: unknown): string {
  if (error instanceof NotSmallFile) return 'Names something else than a regular file of at most 1 MiB.'
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'Names a file that does not exist.'
  if (code === 'EACCES' || code === 'EPERM') return 'Names a file that this account may not read.'
  if (code === 'EISDIR') return 'Names a folder, not a file.'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'Names a file that is not UTF-8 text.'
  return 'Names a file that cannot be read.'
}
