import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './part.ts'
import { output } from './processes.ts'

const BENCH = import.meta.dirname

/** Returns a program of `peers`, whose packages are installed first unless they are there. */
export async function peerProgram(bench: Bench, file: string): Promise<string> {
  // npm writes this file last.
  if (!existsSync(join(BENCH, 'node_modules/.package-lock.json'))) {
    bench.progress('npm ci --prefix bench')
    const options = ['--ignore-scripts', '--no-audit', '--no-fund']
    await output(bench, ['npm', 'ci', '--prefix', BENCH, ...options], { NODE_ENV: '' })
  }
  return join(BENCH, 'peers', file)
}

/** Returns the versions of the other servers. */
export function peerVersions(): string {
  const { dependencies } = JSON.parse(readFileSync(join(BENCH, 'package.json'), 'utf8'))
  const shown = Object.entries(dependencies).filter(([name]) => name !== 'pg')
  return shown.map(([name, version]) => `${name} ${version}`).join(', ')
}
