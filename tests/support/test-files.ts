import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Folders and files whose tests run the code of `src` mostly in their own process: they are the ones to measure coverage with. */
const COVERING = [
  'adapters/',
  'application/',
  'cases/',
  'contracts/',
  'database.test.ts',
  'domain/',
  'lib/',
  'testing/',
]

/** Returns the test files below a folder of the checkout, in order. */
export function testFiles(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join(folder, file))
    .sort()
}

/** Returns the test files that coverage is measured with, and all others. */
export function splitTestFiles(): {
  readonly covering: readonly string[]
  readonly others: readonly string[]
} {
  const files = testFiles('tests')
  const isCovering = (file: string) => COVERING.some((folder) => file.startsWith(`tests/${folder}`))
  return { covering: files.filter(isCovering), others: files.filter((file) => !isCovering(file)) }
}
