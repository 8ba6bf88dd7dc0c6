/**
 * Runs the tests of the modules with coverage, including the processes that they start, and checks each part of `src`
 * against its threshold. A file that no test loads counts as not covered. The tests of whole programs take no part: they
 * start hundreds of processes, and coverage makes each of them slower. Arguments replace the list of tests:
 * `npm run coverage -- tests/x.test.ts`.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { findModule } from './support/architecture.ts'
import { testFiles } from './support/test-files.ts'

interface Counts {
  readonly total: number
  readonly covered: number
}

interface FileCoverage {
  readonly lines: Counts
  readonly branches: Counts
  readonly missing: readonly string[]
}

interface Threshold {
  readonly part: RegExp
  readonly name: string
  readonly percent: number
}

const THRESHOLDS: readonly Threshold[] = [
  { name: 'domain', part: /^domain\//, percent: 100 },
  { name: 'application', part: /^application\//, percent: 100 },
  { name: 'everything', part: /^/, percent: 90 },
]

/** A line that does nothing when it is reached: blank, a remark, the end of a block, or the head of a function. */
const DECLARES = /^\s*(\/\/.*|\/?\*.*|\}|(async )?function\*? \w.*)?$/

const root = join(import.meta.dirname, '..')
const src = join(root, 'src')
const reports = join(root, 'coverage')

const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && hasCode(readFileSync(join(src, file), 'utf8')))
  .sort()

rmSync(reports, { recursive: true, force: true })
// Some tests run programs under other accounts, which write here too.
const written = mkdtempSync(join(tmpdir(), 'latchkey-coverage-'))
chmodSync(written, 0o1777)
const testsExit = runTests()
const problems = testsExit === 0 ? [] : ['the tests failed']
try {
  const coverage = readReport()
  printTable(coverage)
  problems.push(...shortfalls(coverage))
} catch (error) {
  problems.push(`the report could not be read: ${error}`)
}
rmSync(written, { recursive: true, force: true })
for (const problem of problems) print(`coverage: ${problem}`)
if (problems.length === 0) print('coverage: every threshold is met')
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
      ...(process.argv.length > 2 ? process.argv.slice(2) : testFiles('modules')),
    ],
    { cwd: root, stdio: 'inherit' },
  )
  return status ?? 1
}

function readReport(): ReadonlyMap<string, FileCoverage> {
  const report = JSON.parse(readFileSync(join(reports, 'coverage-final.json'), 'utf8'))
  const covered = new Map(
    Object.entries<IstanbulFile>(report).map(([path, file]) => [
      relative(src, path).replaceAll('\\', '/'),
      coverageOf(file, readFileSync(path, 'utf8').split('\n')),
    ]),
  )
  const absent = sources.filter((file) => !covered.has(file))
  if (absent.length > 0 || sources.length === 0)
    throw new Error(`it lacks ${absent.join(', ') || 'any file'}`)
  return covered
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

function coverageOf({ statementMap, s, branchMap, b }: IstanbulFile, text: readonly string[]): FileCoverage {
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
  const total = Object.keys(s).length
  return {
    lines: { total, covered: total - missed.length },
    branches: { total: arms.length, covered: arms.length - missedArms.length },
    missing: [...new Set([...missed.map(String), ...missedArms.map(({ line }) => `${line}b`)])],
  }

  /** What stands behind a function's `return` is never reached; where it only declares functions, nothing is missed. */
  function isRestOfDeclarations({ start, end }: Range): boolean {
    const ends = [start.line, end.line].map((line) => text[line - 1] ?? '')
    const isMissed = missed.some((line) => line > start.line && line < end.line)
    return ends.every((line) => DECLARES.test(line)) && !isMissed
  }
}

function shortfalls(coverage: ReadonlyMap<string, FileCoverage>): readonly string[] {
  return THRESHOLDS.flatMap(({ name, part, percent }) => {
    const files = [...coverage].flatMap(([file, counts]) => (part.test(file) ? [counts] : []))
    if (files.length === 0) return [`${name} has no file`]
    return (['lines', 'branches'] as const).flatMap((measure) => {
      const reached = percentOf(sumOf(files, measure))
      return reached < percent
        ? [`${name} has ${reached.toFixed(2)} % of ${measure}, and ${percent} % are asked for`]
        : []
    })
  })
}

function printTable(coverage: ReadonlyMap<string, FileCoverage>): void {
  const filesByModule = new Map<string, [file: string, FileCoverage][]>()
  for (const entry of coverage) {
    const module = findModule(entry[0])?.path ?? entry[0]
    filesByModule.set(module, [...(filesByModule.get(module) ?? []), entry])
  }
  print('\npart                          lines   branches  not covered (b: one arm of a branch)')
  for (const [module, files] of [...filesByModule, ['everything', [...coverage]] as const]) {
    const counts = files.map(([, file]) => file)
    print(`${module.padEnd(26)}${percentages(counts)}`)
    if (module === 'everything') break
    for (const [file, { missing }] of files) {
      if (missing.length > 0) print(`  ${file}: ${shortened(missing)}`)
    }
  }
}

function percentages(files: readonly FileCoverage[]): string {
  return (['lines', 'branches'] as const)
    .map((measure) => percentOf(sumOf(files, measure)).toFixed(2).padStart(9))
    .join(' ')
}

function sumOf(files: readonly FileCoverage[], measure: 'lines' | 'branches'): Counts {
  return {
    total: files.reduce((sum, file) => sum + file[measure].total, 0),
    covered: files.reduce((sum, file) => sum + file[measure].covered, 0),
  }
}

function percentOf({ total, covered }: Counts): number {
  return total === 0 ? 100 : (covered / total) * 100
}

/** Joins neighbouring lines to ranges and stops after a dozen. */
function shortened(missing: readonly string[]): string {
  const ranges: string[] = []
  let last = Number.NaN
  for (const line of missing) {
    const number = Number(line)
    if (number === last + 1) ranges.push(`${ranges.pop()?.split('–')[0]}–${number}`)
    else ranges.push(line)
    last = number
  }
  return ranges.length > 12
    ? `${ranges.slice(0, 12).join(', ')} and ${ranges.length - 12} more`
    : ranges.join(', ')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
