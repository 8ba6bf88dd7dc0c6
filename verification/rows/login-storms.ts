import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { addCrowd, loginOf, UNLIMITED } from '../crowd.ts'
import { watchRefusals } from '../refusals.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, quantile, shown, shownTimes, timed } from '../scene.ts'

const COST = 12
const IDLE_MS = 2000
const MOST_IN_FLIGHT = 50
const REFUSED_MS = 100
const THREADS = 2
/** The thread time of one login on the fastest machines, in milliseconds. */
const FASTEST_MS = 100
/** At most two seconds of work have slots at once, and as much again arrives meanwhile. */
const MOST_SERVED = (THREADS * 2 * 2000) / FASTEST_MS

/** More logins than the service can serve. */
export const stormRows: readonly Row[] = [
  {
    id: 'I4',
    // Client and service share this process, so that its times are not the service's.
    promise:
      'a storm of logins: each gets 200 or a 503 that asks to retry, me is served (how fast: P9 of bench/)',
    sizes: { ci: 500, release: 500, mutant: 100 },
    mutants: [
      {
        name: 'no login is refused a slot',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'throw new Unavailable()',
        replace: '{}',
      },
      {
        name: 'slots are never released',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'held--',
        replace: '',
      },
    ],
    async run(trial) {
      const env = { BCRYPT_COST: `${COST}`, HASHING_CONCURRENCY: `${THREADS}`, ...UNLIMITED }
      await withApp(trial, { env }, async (app) => {
        // One more customer than log in: a login would revoke the token in use.
        const [first = '', ...others] = await addCrowd(app, trial.size + 1, COST)
        const { body } = await loginOf(app, first)
        const idle = await asking(trial, app, body.token, sleep(IDLE_MS))
        const refusals = watchRefusals()
        const storm = Promise.all(others.map((email) => timed(loginOf(app, email))))
        const meanwhile = await asking(trial, app, body.token, storm)
        const responses = await storm
        const handledMs = refusals.stop()

        for (const [response] of responses)
          trial.expect(response.status === 200 || isRefused(response), () => `a login: ${shown(response)}`)
        const refusedMs = responses.filter(([{ status }]) => status === 503).map(([, ms]) => ms)
        const served = responses.length - refusedMs.length
        trial.expect(served > 0, () => 'no login succeeded')
        trial.expect(
          served <= MOST_SERVED,
          () => `${served} of ${responses.length} were admitted: more than two seconds of work`,
        )
        const after = await loginOf(app, first)
        trial.expect(after.status === 200, () => `after the storm: ${shown(after)}`)
        if (trial.judgesTimes)
          trial.expect(
            quantile(handledMs, 0.99) <= REFUSED_MS,
            () => `refused after ${shownTimes(handledMs)}`,
          )
        trial.note(`${served} of ${responses.length} logins served`)
        trial.note(`the others refused: ${shownTimes(handledMs)}, from the head of the request`)
        trial.note(`that with all of them connecting at once from the same process: ${shownTimes(refusedMs)}`)
        trial.note(`me, idle: ${shownTimes(idle)}`)
        trial.note(`me, in the storm: ${shownTimes(meanwhile)}`)
      })
    },
  },
]

/** Calls `me` 500 times a second until `during` settles. Returns the duration of each call, in milliseconds. */
async function asking(
  trial: Trial,
  app: RunningApp,
  token: string,
  during: Promise<unknown>,
): Promise<readonly number[]> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  during.then(over, over)
  const asked: Promise<number>[] = []
  let inFlight = 0
  const beganMs = performance.now()
  while (!isOver) {
    // Fewer when this process, which is client and service, is too slow.
    while (inFlight < MOST_IN_FLIGHT && asked.length < (performance.now() - beganMs) / 2) asked.push(me())
    await sleep(2)
  }
  return Promise.all(asked)

  async function me(): Promise<number> {
    inFlight++
    const [response, ms] = await timed(app.call('/api/me', { token }))
    inFlight--
    trial.expect(response.status === 200, () => `me: ${shown(response)}`)
    return ms
  }
}
