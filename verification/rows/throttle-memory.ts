import { memoryLoginThrottle } from '../../src/adapters/memory/login-throttle.ts'
import { systemClock } from '../../src/adapters/system-clock/clock.ts'
import type { LoginLimits } from '../../src/domain/login-limit.ts'
import type { Row } from '../row.ts'

const LIMIT = 10
const MIB = 1024 * 1024

/** The memory that one process's throttle uses for all guesses. */
export const throttleMemoryRows: readonly Row[] = [
  {
    id: 'E6',
    promise: 'unlimited distinct e-mails and addresses: the memory of the throttle is bounded',
    sizes: { ci: 300_000, release: 1_000_000 },
    mutants: [
      {
        name: 'no entry is ever dropped',
        file: 'src/adapters/memory/login-attempts.ts',
        find: 'if (young.size < GENERATION_SIZE) return',
        replace: 'if (young.size > 0) return',
      },
    ],
    run: async (trial) => {
      const limits: LoginLimits = {
        loginLimitAccount: { failures: LIMIT, windowMs: 900_000 },
        loginLimitAddress: { failures: 100, windowMs: 900_000 },
      }
      const throttle = memoryLoginThrottle(limits, systemClock)
      // The first ones warm up the code.
      for (let i = 0; i < 1000; i++) await guess(-i)
      const before = memoryInUse()
      for (let i = 0; i < trial.size; i++) await guess(i)
      const grown = memoryInUse() - before
      trial.note(`${trial.size} e-mails and addresses: +${(grown / MIB).toFixed(1)} MiB.`)
      trial.expect(grown <= 50 * MIB, () => `+${(grown / MIB).toFixed(1)} MiB`)
      const last = { account: emailOf(trial.size - 1), address: clientAddress(trial.size - 1) }
      for (let i = 1; i < LIMIT; i++) await guess(trial.size - 1)
      trial.expect((await throttle.take(last, 1000)).kind === 'refused', () => 'the last entry was dropped')

      async function guess(i: number): Promise<void> {
        const admission = await throttle.take({ account: emailOf(i), address: clientAddress(i) }, 1000)
        if (admission.kind === 'taken') await throttle.settle(admission.slot, 'failed', 1000)
        else trial.require(false, () => `guess ${i} was not admitted: ${admission.kind}`)
      }
    },
  },
]

function emailOf(i: number): string {
  return `${'a-rather-long-name-'.repeat(8)}${i}@example.com`
}

function clientAddress(i: number): string {
  return `2001:db8:${(i >>> 16).toString(16)}:${(i & 0xffff).toString(16)}::/64`
}

function memoryInUse(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
