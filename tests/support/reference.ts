import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import ts from 'typescript'
import * as v from 'valibot'
import type { Operations } from '../../src/adapters/cli/operations.ts'
import { createProgram } from '../../src/adapters/cli/program.ts'
import type { Setting } from '../../src/adapters/config/setting.ts'
import type { SETTINGS, SettingName } from '../../src/adapters/config/settings.ts'
import type { ReloadableSettings } from '../../src/application/configuration.ts'

const ROOT = join(import.meta.dirname, '../..')
const ENTRIES = join(ROOT, 'src/package')

export const code = (text: string) => `\`${text}\``

const RELOADABLE: Readonly<Record<keyof ReloadableSettings, SettingName>> = {
  serviceTokens: 'SERVICE_TOKENS',
  logLevel: 'LOG_LEVEL',
  databaseUrl: 'DATABASE_URL',
  databaseDirectUrl: 'DATABASE_DIRECT_URL',
}

/** The text that no setting accepts. */
const INVALID = '\u0000 ='

/** Returns the row of a setting: its names, default, accepted values, meaning, and when a change applies. */
export function settingRow(setting: (typeof SETTINGS)[number]): readonly string[] {
  const { name, default: text, shownDefault, meaning, secret } = setting
  return [
    secret ? `${code(name)}, ${code(`${name}_FILE`)}` : code(name),
    text === null ? shownDefault : code(text),
    acceptedValues(setting),
    meaning,
    Object.values(RELOADABLE).includes(name) ? 'SIGHUP' : 'restart',
  ]
}

/** Returns the accepted values of a setting, derived from the message for an invalid one. */
export function acceptedValues({ parser }: Setting): string {
  const message = v.safeParse(parser, INVALID).issues?.[0].message ?? ''
  const words = /^Must be one of (.*)\.$/.exec(message)?.[1]
  if (words !== undefined) return words.split(', ').map(code).join(', ')
  return message
    .replace(/^.*?ust be /, '')
    .replace(/^(?:off|never)|name(?:\[scopes\])?=secret|<failures>\/<duration>/g, code)
    .replace(/\.$/, '')
    .replace('a whole number above 0 and a unit (ms, s, m, h, d), at most 3650d', 'a duration above 0')
    .replace('a whole number and a unit (ms, s, m, h, d), at most 3650d', 'a duration')
    .replace(/; write special characters.*$/, '')
}

/** A command without subcommands, as an operator types it. */
interface LeafCommand {
  readonly usage: string
  readonly description: string
  readonly options: readonly Option[]
}

/** Returns every command of the program in the order of its help. */
export function listCommands(): readonly LeafCommand[] {
  return leaves(createProgram({ version: '0.0.0' } as Operations, process), '')

  function leaves(command: Command, path: string): readonly LeafCommand[] {
    const words = `${path}${command.name()} `
    // Explained in the text of the page, as `--help` is.
    if (command.name() === 'help') return []
    if (command.commands.length > 0) return command.commands.flatMap((next) => leaves(next, words))
    const usage = (words + command.usage().replace('[options]', '').trim()).trim()
    return [{ usage, description: command.description(), options: command.options }]
  }
}

/** Returns the row of an option: its flags, and its description with choices and default. */
export function optionRow({
  flags,
  mandatory,
  description,
  argChoices,
  defaultValue,
}: Option): readonly string[] {
  const remarks = [
    ...(mandatory ? ['required'] : []),
    ...(argChoices === undefined ? [] : [argChoices.map(code).join(' or ')]),
    ...(defaultValue === undefined ? [] : [`default: ${code(String(defaultValue))}`]),
  ]
  return [code(flags), [description, ...remarks].join('; ')]
}

/** The source as TypeScript reads it, from the entries of the package on. */
interface Source {
  readonly program: ts.Program
  readonly checker: ts.TypeChecker
  /** Paths below `src/package`. */
  readonly entries: readonly string[]
}

let source: Source | null = null

function readSource(): Source {
  if (source !== null) return source
  const entries = readdirSync(ENTRIES, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const files = entries.map((file) => join(ENTRIES, file))
  const program = ts.createProgram(files, options)
  source = { program, checker: program.getTypeChecker(), entries: entries.sort() }
  return source
}

/** Returns the exports of each entry of the package: their names and the first sentence of their docstrings. */
export function listExports(): ReadonlyMap<string, readonly (readonly string[])[]> {
  const { program, checker, entries } = readSource()
  return new Map(
    entries.map((file) => {
      const entry = program.getSourceFile(join(ENTRIES, file))
      const module = entry && checker.getSymbolAtLocation(entry)
      const symbols = module === undefined ? [] : checker.getExportsOfModule(module)
      const rows = symbols
        .map((symbol) => describeExport(checker, symbol))
        .sort(([a = ''], [b = '']) => a.localeCompare(b, 'en'))
      return [join('latchkey', file.replace(/(?:^index)?\.ts$/, '')), rows] as const
    }),
  )
}

/** Returns the properties of an interface or a class, inherited ones included: their names and docstrings. */
export function listProperties(file: string, name: string): readonly (readonly string[])[] {
  const { program, checker } = readSource()
  const declaration = program
    .getSourceFile(join(ROOT, file))
    ?.statements.find(
      (node) =>
        (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) && node.name?.getText() === name,
    )
  if (declaration === undefined) throw new Error(`${file} declares no ${name}`)
  return checker
    .getTypeAtLocation(declaration)
    .getProperties()
    .map((property) => {
      const optional = property.flags & ts.SymbolFlags.Optional ? '' : 'yes'
      return [code(property.name), optional, readDocstring(checker, property)]
    })
}

function describeExport(checker: ts.TypeChecker, alias: ts.Symbol): readonly string[] {
  const symbol = alias.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(alias) : alias
  const sentence = readDocstring(checker, symbol)
    .replace(/(?<=[A-Za-z0-9)`}\]][.:]) [A-Z`].*$/, '')
    .replace(/:$/, '.')
  return [code(alias.name), kindOf(symbol), sentence]
}

function readDocstring(checker: ts.TypeChecker, symbol: ts.Symbol): string {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ')
}

function kindOf({ flags }: ts.Symbol): string {
  if (flags & ts.SymbolFlags.Class) return 'class'
  if (flags & ts.SymbolFlags.Function) return 'function'
  return flags & ts.SymbolFlags.Variable ? 'value' : 'type'
}

/** An event of the log, with its level where the source states it. */
interface LogEvent {
  readonly name: string
  readonly level: string | null
}

const CALL = /\blog(?:\.(info|warn|error)|\[[^\]]*\])\(\s*(['`])([^'`]+)\2/g
/** The object of fields in a call, up to its end: none of them contains a nested object that is a field. */
const FIELDS = /^,\s*\{([^;]*?)\}\s*\)/
const COUNT = /countLine\('(info|warn)', '([^']+)'/g
const EMBEDDED = /'(embedded_postgres\.[a-z_]+)'/g
const LINE = /event"?: ?['"]([a-z_]+\.[a-z_]+|request)['"]/g
/** Reported to the composition, which does not log it. */
const NOT_LOGGED = 'embedded_postgres.creating'

/**
 * Returns the events that the source logs. A name such as `worker.${kind}` stands for one event for each kind, which the
 * types of the adapters list.
 */
export function listLogEvents(): readonly LogEvent[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('testing/'))
    .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'))
  const kinds: Readonly<Record<string, readonly string[]>> = {
    cache: kindsOf('adapters/postgres/revocation/suspension.ts'),
    database: kindsOf('adapters/postgres/connection/pool-options.ts'),
    worker: kindsOf('adapters/node-cluster/supervisor.ts'),
  }
  const events = files.flatMap((text) => [
    ...[...text.matchAll(CALL)].flatMap(([, level = null, , name = '']) =>
      expand(name).map((event) => ({ name: event, level: event === name ? level : null })),
    ),
    ...[...text.matchAll(COUNT)].map(([, level = '', name = '']) => ({ name, level })),
    ...[...text.matchAll(EMBEDDED)].map(([, name = '']) => ({ name, level: null })),
    ...[...text.matchAll(LINE)].map(([, name = '']) => ({ name, level: null })),
  ])
  return events.filter(({ name }) => name !== NOT_LOGGED)

  function expand(name: string): readonly string[] {
    const [prefix = '', rest = ''] = name.split('.')
    return rest === `$\{kind}` ? (kinds[prefix] ?? []).map((kind) => `${prefix}.${kind}`) : [name]
  }
}

function kindsOf(file: string): readonly string[] {
  const [, union = ''] =
    /readonly kind: ('[^\n]*')$/m.exec(readFileSync(join(ROOT, 'src', file), 'utf8')) ?? []
  return [...union.matchAll(/'([a-z_]+)'/g)].map(([, kind = '']) => kind)
}

/** Returns the names of the fields that the calls of the log give to an event, as far as they stand in the call. */
export function listLogFields(): readonly { readonly event: string; readonly fields: readonly string[] }[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('testing/'),
  )
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8')
    return [...text.matchAll(CALL)].map((call) => {
      const [, object = ''] = FIELDS.exec(text.slice(call.index + call[0].length)) ?? []
      const names = [...object.replace(/`[^`]*`/g, '').matchAll(/(?:^|[{,])\s*([a-z_]+)(?=\s*(?:[:,}]|$))/g)]
      return { event: call[3] ?? '', fields: names.map(([, name = '']) => name) }
    })
  })
}

/** An HTTP message as a document shows it. */
interface HttpMessage {
  /** The request line or the status line. */
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Parses an HTTP message. */
export function parseHttp(text: string): HttpMessage {
  const [head = '', ...rest] = text.trimEnd().split('\n\n')
  const [start = '', ...lines] = head.split('\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { start, headers: Object.fromEntries(headers), body: rest.join('\n\n') }
}

/** Returns the value with the name of its type in place of each text and number. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null)
    return typeof value === 'boolean' ? value : value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]))
}
