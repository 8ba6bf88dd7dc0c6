import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './part.ts'
import type { Candidate } from './server.ts'

const ROOT = join(import.meta.dirname, '..')

/** Compiles a checkout as the package ships it, into a folder of the run. Returns its main file. */
export function buildProduct({ folder }: Pick<Bench, 'folder'>, checkout = ROOT): string {
  const tree = join(folder, `product-${Buffer.from(checkout).toString('hex').slice(-32)}`)
  const main = join(tree, 'dist/main.js')
  if (existsSync(main)) return main
  mkdirSync(tree)
  for (const path of ['package.json', 'sql'])
    cpSync(join(checkout, path), join(tree, path), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(tree, 'node_modules'))
  const compiler = join(checkout, 'node_modules/typescript/bin/tsc')
  const options = [
    '--project',
    join(checkout, 'tsconfig.build.json'),
    '--outDir',
    join(tree, 'dist'),
    '--noCheck',
  ]
  execFileSync(process.execPath, [compiler, ...options])
  for (const page of ['docs-page', 'ops-page'].map((name) => `adapters/http/${name}/public`)) {
    const source = join(checkout, 'src', page)
    if (existsSync(source)) cpSync(source, join(tree, 'dist', page), { recursive: true })
  }
  return main
}

/** Returns Latchkey on a database, with its default settings where `env` has no other. */
export function product(
  bench: Bench,
  databaseUrl: string,
  different: Partial<Candidate> & { readonly checkout?: string } = {},
): Candidate {
  const { checkout, env, ...rest } = different
  return {
    name: 'Latchkey',
    program: [buildProduct(bench, checkout), 'serve'],
    env: { PORT: '0', DATABASE_URL: databaseUrl, ...env },
    ...rest,
  }
}
