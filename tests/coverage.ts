/**
 * Checks that tests cover every line and branch of domain and application, including the processes that they start. A file
 * that no test loads counts as not covered. Arguments replace the list of tests: `npm run coverage -- tests/x.test.ts`.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { testFiles } from './support/test-files.ts'

const PARTS = ['domain', 'application']

/** A line that does nothing when it is reached: blank, a remark, the end of a block, or the head of a function. */
const DECLARES = /^\s*(\/\/.*|\/?\*.*|\}|(async )?function\*? \w.*)?$/

const root = join(import.meta.dirname, '..')
const src = join(root, 'src')
const reports = join(root, 'coverage')

const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => PARTS.some((part) => file.startsWith(`${part}/`)))
  .filter((file) => file.endsWith('.ts') && hasCode(readFileSync(join(src, file), 'utf8')))
  .sort()

rmSync(reports, { recursive: true, force: true })
// Some tests run programs under other accounts, which write here too.
const written = mkdtempSync(join(tmpdir(), 'latchkey-coverage-'))
chmodSync(written, 0o1777)
const testsExit = runTests()
const problems = testsExit === 0 ? [] : ['the tests failed']
try {
  problems.push(...readReport())
} catch (error) {
  problems.push(`the report could not be read: ${error}`)
}
rmSync(written, { recursive: true, force: true })
for (const problem of problems) print(`coverage: ${problem}`)
if (problems.length === 0) print('coverage: every line and branch of domain and application')
process.exitCode = problems.length === 0 ? 0 : 1

/** Whether a file has anything to run: one of types alone is never loaded and would count as not covered. */
function hasCode(source: string): boolean {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      removeComments: true,
    },
  })
  return outputText.replace('export {};', '').trim() !== ''
}

function runTests(): number {
  const { status } = spawnSync(
    process.execPath,
    [
      fileURLToPath(import.meta.resolve('c8/bin/c8.js')),
      '--all',
      '--src=src',
      ...sources.map((file) => `--include=src/${file}`),
      '--extension=.ts',
      '--reporter=json',
      `--reports-dir=${reports}`,
      `--temp-directory=${written}`,
      '--clean=false',
      '--merge-async',
      process.execPath,
      '--import',
      'tsx',
      'tests/run.ts',
      ...(process.argv.length > 2 ? process.argv.slice(2) : testFiles('coverage')),
    ],
    { cwd: root, stdio: 'inherit' },
  )
  return status ?? 1
}

/** Returns a sentence for each file that is not covered. */
function readReport(): readonly string[] {
  const report: Record<string, IstanbulFile> = JSON.parse(
    readFileSync(join(reports, 'coverage-final.json'), 'utf8'),
  )
  const missed = new Map(
    Object.entries(report).map(([path, file]) => [
      relative(src, path).replaceAll('\\', '/'),
      missedLines(file, readFileSync(path, 'utf8').split('\n')),
    ]),
  )
  if (sources.length === 0) return ['there is no file']
  return sources.flatMap((file) => {
    const lines = missed.get(file)
    if (lines?.length === 0) return []
    return [lines === undefined ? `the report lacks ${file}` : `${file}: ${lines.join(', ')}`]
  })
}

interface Range {
  readonly start: { readonly line: number }
  readonly end: { readonly line: number }
}

/** What is read of istanbul's format: one statement a line, and the arms of each branch. */
interface IstanbulFile {
  readonly statementMap: Readonly<Record<string, { readonly start: { readonly line: number } }>>
  readonly s: Readonly<Record<string, number>>
  readonly branchMap: Readonly<Record<string, { readonly loc: Range }>>
  readonly b: Readonly<Record<string, readonly number[]>>
}

/** Returns the lines that no test reached; with a `b` for one arm of a branch. */
function missedLines(
  { statementMap, s, branchMap, b }: IstanbulFile,
  text: readonly string[],
): readonly string[] {
  const lineOf = (key: string) => statementMap[key]?.start.line ?? 0
  const uncovered = Object.keys(s)
    .filter((key) => s[key] === 0)
    .map(lineOf)
  const missed = uncovered.filter((line) => !DECLARES.test(text[line - 1] ?? ''))
  const arms = Object.keys(b).flatMap((key) => {
    const { loc } = branchMap[key] as { readonly loc: Range }
    return (b[key] ?? [])
      .filter((hits) => hits > 0 || !isRestOfDeclarations(loc))
      .map((hits) => ({ hits, line: loc.start.line }))
  })
  const missedArms = arms.filter(({ hits }) => hits === 0)
  return [...new Set([...missed.map(String), ...missedArms.map(({ line }) => `${line}b`)])]

  /** What stands behind a function's `return` is never reached; where it only declares functions, nothing is missed. */
  function isRestOfDeclarations({ start, end }: Range): boolean {
    const ends = [start.line, end.line].map((line) => text[line - 1] ?? '')
    const isMissed = missed.some((line) => line > start.line && line < end.line)
    return ends.every((line) => DECLARES.test(line)) && !isMissed
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
