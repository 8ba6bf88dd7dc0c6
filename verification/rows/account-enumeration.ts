import { bcryptPasswordHasher } from '../../src/adapters/bcrypt/password-hasher.ts'
import { watchBcrypt } from '../../tests/support/bcrypt-work.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { UNLIMITED } from '../crowd.ts'
import { medianInterval } from '../interval.ts'
import type { Row } from '../row.ts'

/** When times are judged, the default cost of services. A cheaper one exercises the same decoys. */
const DEFAULT_COST = 12
const CHEAP_COST = 10
const LARGEST_SHARE = 0.02

export const discoveryRows: readonly Row[] = [
  {
    id: 'E8',
    promise: 'a refused login does the same work and takes the same time for every cause',
    sizes: { ci: 2, release: 60, mutant: 1 },
    mutants: [
      {
        name: 'no decoy when there is no hash',
        file: 'src/adapters/bcrypt/decoys.ts',
        find: 'return [cost]',
        replace: 'return []',
      },
      {
        name: 'a cheaper hash gets no decoys',
        file: 'src/adapters/bcrypt/decoys.ts',
        find: 'Math.max(0, cost - storedCost)',
        replace: '0',
      },
      {
        name: 'a damaged hash is refused without work',
        file: 'src/adapters/bcrypt/password-hasher.ts',
        find: 'onDamaged()\n',
        replace: 'return false\n',
      },
      {
        name: 'an unknown e-mail is refused without work',
        file: 'src/application/login/verify-password.ts',
        find: 'const mayLogIn = found',
        replace: 'if (found === null) return null\n  const mayLogIn = found',
      },
      {
        name: 'a disabled customer is refused without work',
        file: 'src/application/login/verify-password.ts',
        find: 'const isRight = await',
        replace: 'const isRight = mayLogIn && await',
      },
    ],
    async run(trial) {
      const cost = trial.judgesTimes ? DEFAULT_COST : CHEAP_COST
      const env = {
        BCRYPT_COST: `${cost}`,
        HASHING_CONCURRENCY: '1',
        ...UNLIMITED,
      }
      await withApp(trial, { env }, async (app) => {
        const work = watchBcrypt()
        const { email: wrong } = await app.addCustomer()
        const causes = await causesOf(app, cost)
        const refusedMs = async (email: string, cause: string, works: number) => {
          const before = work.count()
          const beganMs = performance.now()
          const { status } = await app.call('/api/login', { body: { email, password: 'wrong horse 9' } })
          const ms = performance.now() - beganMs
          const done = work.count() - before
          trial.expect(status === 401, () => `${cause}: ${status}`)
          trial.expect(done === works, () => `${cause}: bcrypt ran ${done} times, not ${works}`)
          return ms
        }
        for (let warming = 0; warming < 3; warming++) await refusedMs(wrong, 'a wrong password', 1)
        const wrongMs: number[] = []
        const differences = new Map(causes.map(({ cause }) => [cause, [] as number[]]))
        for (let round = 0; round < trial.size; round++) {
          // Otherwise this number of failures in a row would be refused as guessing.
          if (round % 10 === 0) await app.database.sql('delete from login_attempts')
          for (const { cause, email, works } of causes) {
            const asCause = () => refusedMs(email, cause, works)
            const asWrong = () => refusedMs(wrong, 'a wrong password', 1)
            // Alternates the order, so that neither gains by coming second.
            const firstMs = await (round % 2 === 0 ? asCause : asWrong)()
            const secondMs = await (round % 2 === 0 ? asWrong : asCause)()
            const [causeMs, otherMs] = round % 2 === 0 ? [firstMs, secondMs] : [secondMs, firstMs]
            wrongMs.push(otherMs)
            differences.get(cause)?.push(causeMs - otherMs)
          }
        }
        work.stop()
        const base = medianInterval(wrongMs).median
        trial.note(`a wrong password: ${base.toFixed(1)} ms (median of ${wrongMs.length}), cost ${cost}`)
        for (const [cause, values] of differences) {
          const { median, low, high } = medianInterval(values)
          const shown = [low, median, high].map((ms) => `${((ms / base) * 100).toFixed(2)} %`)
          trial.note(`${cause}: ${shown[1]} from it, 95 % interval ${shown[0]} to ${shown[2]}`)
          if (trial.judgesTimes)
            trial.expect(
              low >= -LARGEST_SHARE * base && high <= LARGEST_SHARE * base,
              () => `${cause} differs by ${shown[0]} to ${shown[2]}`,
            )
        }
      })
    },
  },
]

/** Accounts that are refused for different reasons, with the number of bcrypt runs per login. */
async function causesOf(
  app: RunningApp,
  configured: number,
): Promise<readonly { readonly cause: string; readonly email: string; readonly works: number }[]> {
  const disabled = await app.addCustomer()
  await app.service.useCases.customers.disable(disabled.id, app.service.useCases.deadline())
  return [
    { cause: 'an unknown e-mail', email: 'unknown@example.com', works: 1 },
    { cause: 'a disabled customer', email: disabled.email, works: 1 },
    { cause: 'no password', email: await withHash(null), works: 1 },
    { cause: 'a damaged hash', email: await withHash('$2b$10$short'), works: 1 },
    // One verification, and decoys for each cost up to the configured one.
    { cause: 'a hash of cost 4', email: await withHash(await hashOf(4)), works: configured - 4 },
    {
      cause: 'a hash of half the cost',
      email: await withHash(await hashOf(configured - 1)),
      works: 2,
    },
  ]

  async function withHash(hash: string | null): Promise<string> {
    const { id, email } = await app.addCustomer()
    await app.database.sql('update customers set password_hash = $2 where id = $1', [id, hash])
    return email
  }
}

const hashOf = (cost: number) => bcryptPasswordHasher({ cost }).hash(PASSWORD)
