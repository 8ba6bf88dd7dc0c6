import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readFileSync, symlinkSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { boundTo } from './load.ts'
import type { Bench } from './part.ts'

const ROOT = join(import.meta.dirname, '..')
const START_MS = 30_000

/** A program that is measured: it prints `"address":"http://…"` once it serves, and ends on SIGTERM. */
export interface Candidate {
  readonly name: string
  /** What node is given: a file, and what else it needs. */
  readonly program: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whether it has a processor of its own, so that what it carries does not depend on what else runs. */
  readonly isBound?: boolean
}

/** One that serves. */
export interface Served {
  readonly name: string
  readonly url: string
  readonly pid: number
  /** The line with its address, and what it printed before. */
  readonly firstWords: string
  stop(): Promise<void>
}

/** The processors of the two sides: one each where there are two. */
export const SERVER_CPU = availableParallelism() > 1 ? 0 : undefined
export const LOAD_CPU = availableParallelism() > 1 ? 1 : undefined

/** Raw node:http that answers 178 bytes with two headers of its own. */
export const bare: Candidate = {
  name: 'bare node:http',
  program: [join(ROOT, 'bench/servers/bare.js')],
  isBound: true,
}

/** Compiles the product as it would be installed; answers its entry, whose tree lies in the run's folder. */
export function buildProduct({ folder }: Bench): string {
  const tree = join(folder, 'product')
  const entry = join(tree, 'dist/main.js')
  if (existsSync(entry)) return entry
  mkdirSync(tree)
  for (const part of ['package.json', 'sql']) {
    cpSync(join(ROOT, part), join(tree, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const project = join(ROOT, 'tsconfig.build.json')
  execFileSync(process.execPath, [compiler, '--project', project, '--outDir', join(tree, 'dist')])
  for (const page of ['adapters/http/docs-page/public', 'adapters/http/ops-page/public']) {
    cpSync(join(ROOT, 'src', page), join(tree, 'dist', page), { recursive: true })
  }
  return entry
}

/** The product as it is installed, with settings of its own beside its defaults. */
export function product(
  bench: Bench,
  name: string,
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Candidate {
  return {
    name,
    program: [buildProduct(bench), 'serve'],
    env: { PORT: '0', DATABASE_URL: databaseUrl, ...env },
  }
}

/** Starts a candidate and waits until it serves. What it prints goes to a file: reading it would be work, too. */
async function startCandidate(candidate: Candidate, folder: string): Promise<Served> {
  const { name, program, env = {}, isBound = false } = candidate
  const [command = '', ...args] = boundTo(isBound ? SERVER_CPU : undefined, [process.execPath, ...program])
  const file = join(folder, `${randomUUID()}.log`)
  const output = openSync(file, 'w')
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (const endMs = performance.now() + START_MS; ; await sleep(10)) {
    const firstWords = readFileSync(file, 'utf8')
    const address = /"address":"(http:[^"]+)"/.exec(firstWords)?.[1]
    if (address !== undefined) return { name, url: address, pid: child.pid ?? 0, firstWords, stop }
    if (child.exitCode === null && performance.now() < endMs) continue
    await stop()
    throw new Error(`${name} does not serve: ${firstWords}`)
  }

  async function stop(): Promise<void> {
    child.kill('SIGTERM')
    await ended
  }
}

/** Lends candidates that all serve at the same time; whoever is not loaded costs the others nothing. */
export async function withServers<T>(
  candidates: readonly Candidate[],
  folder: string,
  use: (served: readonly Served[]) => Promise<T>,
): Promise<T> {
  const served: Served[] = []
  try {
    for (const candidate of candidates) served.push(await startCandidate(candidate, folder))
    return await use(served)
  } finally {
    await Promise.all(served.map(({ stop }) => stop()))
  }
}
