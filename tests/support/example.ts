import assert from 'node:assert/strict'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { install } from './packed.ts'
import { startProcess, temporaryFolder, UNCOUNTED } from './running-process.ts'

const root = join(import.meta.dirname, '../..')
const tarball = process.env.LATCHKEY_PACKAGE

/** A runnable example: in this checkout, or on the packed package that `LATCHKEY_PACKAGE` names. */
export interface PreparedExample {
  readonly folder: string
  /** The folder where its packages are installed. */
  readonly packages: string
  remove(): void
}

/** Whether the example uses the packed package. */
export const onPackage = tarball !== undefined

/** The source of the example's imports, for test names. */
export const where = onPackage ? 'on the packed package' : 'in this repository'

/** Why a contract suite skips a test: the adapter lacks what the test needs. */
const UNDISTURBED =
  /^(The \S+( under test)? ha(s|ve) no function \w+|It has no \w+|Each process counts in its own memory)\.$/

/** Prepares an example of the folder `examples`. */
export async function prepareExample(name: string): Promise<PreparedExample> {
  const example = join(root, 'examples', name)
  if (tarball === undefined) return { folder: example, packages: join(root, 'node_modules'), remove() {} }
  const { path, remove } = await temporaryFolder()
  cpSync(example, path, { recursive: true, filter: (file) => !file.includes('node_modules') })
  // Outside this repository npm has installed the package.
  const settings = join(path, 'tsconfig.json')
  const { compilerOptions, ...rest } = JSON.parse(readFileSync(settings, 'utf8'))
  writeFileSync(settings, JSON.stringify({ compilerOptions: { ...compilerOptions, paths: {} }, ...rest }))
  const unreachable = await install(path, [tarball], { dev: true })
  if (unreachable !== null) throw new Error(unreachable)
  return { folder: path, packages: join(path, 'node_modules'), remove }
}

/** Type-checks an example. Returns the compiler's output. */
export async function typeProblems({ folder, packages }: PreparedExample): Promise<string> {
  const args = [join(packages, 'typescript/bin/tsc'), '--noEmit', '--project', '.']
  const { code, stdout } = await startProcess(process.execPath, args, { cwd: folder, env: UNCOUNTED }).ended
  return code === 0 ? '' : stdout
}

/**
 * Runs the example's own tests. Returns the number that passed. Throws their output when one fails, or is skipped for
 * another reason than one of the contract suites or `mayBeSkipped`.
 */
export async function ownTests(
  { folder }: PreparedExample,
  env: Record<string, string> = {},
  mayBeSkipped: readonly string[] = [],
): Promise<number> {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files: readonly string[] = scripts.test.match(/tests\/\S+/g)
  const args = ['--import', 'tsx', '--test', '--test-reporter=tap', ...files]
  const { code, stdout, stderr } = await startProcess(process.execPath, args, {
    cwd: folder,
    env: { ...UNCOUNTED, ...env },
  }).ended
  const passed = Number(/^# pass (\d+)$/m.exec(stdout)?.[1])
  const skipped = [...stdout.matchAll(/ # SKIP (.*)$/gm)].map(([, reason = '']) => reason)
  const isExpected = (reason: string) => UNDISTURBED.test(reason) || mayBeSkipped.includes(reason)
  if (code !== 0 || !skipped.every(isExpected)) throw new Error(stdout + stderr)
  return passed
}

/** An example whose tests start the server of another store. */
export interface StoreExample {
  readonly title: string
  readonly name: string
  /** Why its tests cannot run here, or false. */
  readonly skip: string | false
  /** More tests than these pass. */
  readonly passing: number
  /** Reasons of its tests to be skipped, beside those of the contract suites. */
  readonly mayBeSkipped?: readonly string[]
}

/** Declares the tests of an example, which run only on the packed package: npm installs its driver with it. */
export function testStoreExample({ title, name, skip, passing, mayBeSkipped }: StoreExample): void {
  describe(`${title} ${where}`, {
    skip: !onPackage && 'tests/deploy/installed.test.ts runs it',
  }, () => {
    let prepared: PreparedExample
    before(async () => {
      prepared = await prepareExample(name)
    })
    after(() => prepared?.remove())

    test('compiles with the types of the package', async () => assert.equal(await typeProblems(prepared), ''))

    test('passes its tests, in one process and in several', { skip }, async () => {
      assert.ok((await ownTests(prepared, {}, mayBeSkipped)) > passing)
    })
  })
}
