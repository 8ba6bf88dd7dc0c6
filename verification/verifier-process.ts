import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { kill } from './scene.ts'

/** What a verifier process says of a token. */
export interface Verdict {
  /** The id of the customer, `none` or `unavailable`. */
  readonly result: string
  readonly wasCached: boolean
}

/** A verifier in a process of its own, which a row pauses and kills. */
export interface VerifierProcess {
  /** Returns null when the process was killed before it responded. The verification begins after the call. */
  verify(token: string): Promise<Verdict | null>
  pause(): void
  resume(): void
  /** Kills the process and starts a new one. */
  restart(): Promise<void>
  /** Replaces the verifier by one with another name, which has no penalty. */
  renew(): Promise<void>
  stop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '..')
const PROGRAMS = {
  node: [process.execPath, '--import', 'tsx', join(ROOT, 'verification/fixtures/verify-lines.ts')],
  python: ['python3', join(ROOT, 'examples/verifier-python/serve_lines.py')],
} as const

/** Starts a verifier on the instances at these addresses. */
export function startVerifierProcess(
  kind: keyof typeof PROGRAMS,
  urls: readonly string[],
  serviceToken: string,
): VerifierProcess {
  const waiting = new Map<number, (verdict: Verdict | null) => void>()
  let last = 0
  let child = start()

  return {
    verify: (token) =>
      new Promise((resolve) => {
        last += 1
        waiting.set(last, resolve)
        const [a, b, c] = crypto.getRandomValues(new Uint8Array(3))
        child.stdin?.write(`${last} ${token} 10.${a}.${b}.${c}\n`)
      }),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    restart,
    async renew() {
      if (kind === 'python') await restart()
      else child.stdin?.write('renew\n')
    },
    stop: end,
  }

  async function restart(): Promise<void> {
    await end()
    child = start()
  }

  function start(): ChildProcess {
    const [command, ...args] = PROGRAMS[kind]
    const started = spawn(command, [...args, ...urls], {
      cwd: ROOT,
      // Python would write beside its sources.
      env: { ...process.env, SERVICE_TOKEN: serviceToken, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    started.stdin?.on('error', () => {})
    createInterface({ input: started.stdout }).on('line', (line) => {
      const [n, result = '', cached] = line.split(' ')
      waiting.get(Number(n))?.({ result, wasCached: cached === 'cached' })
      waiting.delete(Number(n))
    })
    return started
  }

  async function end(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const closed = once(child, 'close')
    signal('SIGKILL')
    await closed
    for (const resolve of waiting.values()) resolve(null)
    waiting.clear()
  }

  function signal(name: NodeJS.Signals): void {
    kill(child.pid ?? 0, name)
  }
}
