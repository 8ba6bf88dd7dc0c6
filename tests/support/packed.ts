import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Ended, startProcess, UNCOUNTED } from './running-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const PARTS = [
  '.attw.json',
  '.env.example',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bin',
  'deploy',
  'docs',
  'examples',
  'package.json',
  'sql',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
]

/** The package that `npm pack` creates from a checkout. */
export interface Packed {
  /** A copy of the checkout, with the development packages. */
  readonly checkout: string
  readonly tarball: string
}

/** Builds and packs a copy of this checkout in the folder. This checkout's `dist` stays unchanged. */
export async function packLatchkey(folder: string): Promise<Packed> {
  const checkout = join(folder, 'checkout')
  mkdirSync(checkout)
  for (const part of PARTS) cpSync(join(ROOT, part), join(checkout, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const { code, stdout, stderr } = await npm(checkout, ['pack', '--pack-destination', folder])
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  if (code !== 0 || tarball === undefined) throw new Error(`npm pack: ${stdout}${stderr}`)
  return { checkout, tarball: join(folder, tarball) }
}

/**
 * Installs packages in a folder like a user, without scripts and, unless `dev` is set, without development packages.
 * Prefers npm's cache. Returns null, or why it is impossible here.
 */
export async function install(
  folder: string,
  packages: readonly string[],
  { dev = false } = {},
): Promise<string | null> {
  const options = [
    '--ignore-scripts',
    ...(dev ? [] : ['--omit=dev']),
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
  ]
  const { code, stdout, stderr } = await npm(folder, ['install', ...options, ...packages])
  if (code === 0) return null
  const away =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED)\b/
  const [problem] = away.exec(`${stdout}${stderr}`) ?? []
  if (problem === undefined) throw new Error(`npm install: ${stdout}${stderr}`)
  return `npm cannot reach its registry: ${problem}`
}

/** Runs npm in a folder until it exits. */
export function npm(folder: string, args: readonly string[]): Promise<Ended> {
  if (!existsSync(folder)) mkdirSync(folder)
  return startProcess('npm', args, { cwd: folder, env: UNCOUNTED }).ended
}
