/**
 * Checks what `npm test` leaves out, each step under a heading, and prints a summary; exits 1 when a step failed:
 * `npm run check`. `npm run check -- static modules` runs these parts only; the others are
 * `coverage` and `programs`. `npm run check -- modules 1/2` runs the first of two halves of its test files.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { testFiles } from './support/test-files.ts'

interface Step {
  readonly part: 'static' | 'coverage' | 'modules' | 'programs'
  readonly name: string
  readonly command: readonly [program: string, ...args: string[]]
}

const root = join(import.meta.dirname, '..')
const node = process.execPath
const SHARE = /^([1-9]\d*)\/([1-9]\d*)$/
const parts = process.argv.slice(2).filter((argument) => !SHARE.test(argument))
const [given = '1/1', ...others] = process.argv.slice(2).filter((argument) => SHARE.test(argument))
if (others.length > 0) throw new Error(`Give one share, not ${given} and ${others.join(', ')}.`)
const [chosen, shares] = given.split('/')
const share = (files: readonly string[]) =>
  files.filter((_, index) => index % Number(shares) === Number(chosen) - 1)

const STEPS: readonly Step[] = [
  {
    part: 'static',
    name: 'format and lint',
    command: [
      node,
      'node_modules/@biomejs/biome/bin/biome',
      'ci',
      '--error-on-warnings',
      ...(process.stdout.isTTY ? [] : ['--colors=off']),
    ],
  },
  {
    part: 'static',
    name: 'types',
    command: [node, 'node_modules/typescript/bin/tsc', '--noEmit', '--project', '.'],
  },
  { part: 'static', name: 'unused code', command: [node, 'node_modules/knip/bin/knip.js'] },
  {
    part: 'static',
    name: 'architecture and packages',
    command: [node, '--import', 'tsx', '--test', '--test-reporter=spec', ...testFiles('sources')],
  },
  {
    part: 'static',
    name: 'bill of materials',
    command: [node, '--import', 'tsx', 'tests/supply-chain.ts', 'sbom'],
  },
  {
    part: 'static',
    name: 'audit of packages',
    command: [node, '--import', 'tsx', 'tests/supply-chain.ts', 'audit'],
  },
  {
    part: 'coverage',
    name: 'coverage of domain and application',
    command: [node, '--import', 'tsx', 'tests/coverage.ts'],
  },
  {
    part: 'modules',
    name: 'tests of modules',
    command: [node, '--import', 'tsx', 'tests/run.ts', ...share(testFiles('modules'))],
  },
  {
    part: 'programs',
    name: 'tests of programs',
    command: [node, '--import', 'tsx', 'tests/run.ts', ...share(testFiles('programs'))],
  },
]

if (Number(chosen) > Number(shares)) throw new Error(`There is no part ${chosen} of ${shares}.`)
const unknown = parts.filter((part) => !STEPS.some((step) => step.part === part))
if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(', ')}.`)

/** A line of a skipped test or suite, with the reason. */
const SKIPPED = /^ *﹣ .* # (.+)$/gm

let running: ChildProcess | undefined
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    isInterrupted = true
    running?.kill(signal)
  })

const results = []
for (const { name, command } of STEPS.filter(({ part }) => parts.length === 0 || parts.includes(part))) {
  if (isInterrupted) break
  print(`\n=== ${name} ===`)
  results.push({ name, ...(await run(command)) })
}

print('\n=== summary ===')
for (const { name, passed, seconds, skipped } of results) {
  print(`${passed ? 'passed' : 'FAILED'}  ${name} (${seconds.toFixed(1)} s)`)
  for (const reason of new Set(skipped))
    print(`        SKIPPED ${skipped.filter((each) => each === reason).length}: ${reason}`)
}
process.exitCode = !isInterrupted && results.every(({ passed }) => passed) ? 0 : 1

async function run([program, ...args]: Step['command']) {
  const beganMs = performance.now()
  // In a process group of its own: Ctrl-C would signal the step twice, and it would not end in order.
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  running = child
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text)
    output += text
  })
  const [status] = await once(child, 'close')
  return {
    passed: status === 0,
    seconds: (performance.now() - beganMs) / 1000,
    skipped: [...stripVTControlCharacters(output).matchAll(SKIPPED)].map(([, reason = '']) => reason),
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
