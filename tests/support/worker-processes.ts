import { execFileSync } from 'node:child_process'
import { latchkeyProgram } from './running-process.ts'

/** Returns the process ids of the workers of a primary, without the process that compiles TypeScript. */
export function listWorkers(primary: number): readonly number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n')
  return lines.flatMap((line) => {
    const [pid, parent] = line.trim().split(/\s+/)
    return Number(parent) === primary && line.includes(latchkeyProgram.args.at(-1) ?? '') ? [Number(pid)] : []
  })
}
