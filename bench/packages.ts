import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Bench } from './part.ts'

/** Where the benchmark's own packages are declared, so that only those who measure install them. */
export const BENCH = import.meta.dirname

/** Installs the benchmark's packages, unless they are there. */
export async function installPackages({ progress }: Pick<Bench, 'progress'>): Promise<void> {
  // npm writes this file last.
  if (existsSync(join(BENCH, 'node_modules/.package-lock.json'))) return
  progress('installing the packages of the benchmark: npm ci --prefix bench')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', ['ci', '--prefix', BENCH, ...options])
}
