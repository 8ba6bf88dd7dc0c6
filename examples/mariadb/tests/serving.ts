import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const EXAMPLE = fileURLToPath(new URL('..', import.meta.url))

/** The exit of the program and its output. */
export interface Ended {
  readonly code: number | null
  readonly output: string
}

/** The running program of this example. */
export interface Program {
  /** Resolves when it serves, with its address; rejects when it ends before. */
  readonly url: Promise<string>
  readonly ended: Promise<Ended>
  kill(signal: NodeJS.Signals): Promise<Ended>
}

/** Starts `main.ts` on the database of an address; `input` is its standard input. */
export function startProgram(
  database: string,
  {
    args = [],
    env = {},
    input = '',
  }: { args?: readonly string[]; env?: Record<string, string>; input?: string } = {},
): Program {
  const settings = { MARIADB_URL: database, PORT: '0', BCRYPT_COST: '4', LOG_LEVEL: 'warn', ...env }
  const child = spawn(process.execPath, ['--import', 'tsx', 'main.ts', ...args], {
    cwd: EXAMPLE,
    env: { PATH: process.env.PATH, ...settings },
  })
  child.stdin.end(input)
  let output = ''
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, output })))
  const url = new Promise<string>((resolve, reject) => {
    function read(text: Buffer): void {
      output += text
      const found = /running at (\S+)/.exec(output)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    ended.then(() => reject(new Error(`It ended before it served: ${output}`)))
  })
  // A test of a refused start does not read the address.
  url.catch(() => {})
  return {
    url,
    ended,
    kill(signal) {
      child.kill(signal)
      return ended
    },
  }
}
