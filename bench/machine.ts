import { readFileSync } from 'node:fs'

const TICKS_A_SECOND = 100

/** What a process has used of the processor, in seconds; throws where the system does not tell (it does on Linux). */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}
