import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningApp } from '../../support/running-app.ts'
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
/** What one login needs of a thread where machines are fastest, so that more are never served. */
const FASTEST_MS = 100
/** Two seconds of work find a place at once, and as much again while the storm arrives. */
const MOST_SERVED = (THREADS * 2 * 2000) / FASTEST_MS

/** More logins than there is time for. */
export const stormRows: readonly Row[] = [
  {
    id: 'I4',
    // Here the process that answers me also asks for it, and its times are not the service's.
    promise:
      'a storm of logins: each is responded 200 or told to come again, me is served (how fast: P9 of bench/)',
    sizes: { ci: 500, release: 500, mutant: 100 },
    mutants: [
      {
        name: 'nobody is refused a place',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'throw new Unavailable()',
        replace: '{}',
      },
      {
        name: 'places are never left',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'held--',
        replace: '',
      },
    ],
    async run(trial) {
      const env = { BCRYPT_COST: `${COST}`, HASHING_CONCURRENCY: `${THREADS}`, ...UNLIMITED }
      await withApp(trial, { env }, async (app) => {
        // One more than log in: a login would end the token that is in use.
        const [first = '', ...others] = await addCrowd(app, trial.size + 1, COST)
        const { body } = await loginOf(app, first)
        const idle = await asking(trial, app, body.token, sleep(IDLE_MS))
        const refusals = watchRefusals()
        const storm = Promise.all(others.map((email) => timed(loginOf(app, email))))
        const meanwhile = await asking(trial, app, body.token, storm)
        const answers = await storm
        const toldMs = refusals.stop()

        for (const [answer] of answers)
          trial.expect(answer.status === 200 || isRefused(answer), () => `a login: ${shown(answer)}`)
        const refusedMs = answers.filter(([{ status }]) => status === 503).map(([, ms]) => ms)
        const served = answers.length - refusedMs.length
        trial.expect(served > 0, () => 'no login succeeded')
        trial.expect(
          served <= MOST_SERVED,
          () => `${served} of ${answers.length} were let in: more than two seconds of work`,
        )
        const after = await loginOf(app, first)
        trial.expect(after.status === 200, () => `after the storm: ${shown(after)}`)
        if (trial.judgesTimes)
          trial.expect(quantile(toldMs, 0.99) <= REFUSED_MS, () => `refused after ${shownTimes(toldMs)}`)
        trial.note(`${served} of ${answers.length} logins served`)
        trial.note(`the others refused: ${shownTimes(toldMs)}, from the head of the request`)
        trial.note(`that with all of them connecting at once from the same process: ${shownTimes(refusedMs)}`)
        trial.note(`me, idle: ${shownTimes(idle)}`)
        trial.note(`me, in the storm: ${shownTimes(meanwhile)}`)
      })
    },
  },
]

/** Asks who it is 500 times a second until `during` is over; answers how long each took, in milliseconds. */
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
    // Fewer where this process, which asks and answers, is too slow for them.
    while (inFlight < MOST_IN_FLIGHT && asked.length < (performance.now() - beganMs) / 2) asked.push(me())
    await sleep(2)
  }
  return Promise.all(asked)

  async function me(): Promise<number> {
    inFlight++
    const [answer, ms] = await timed(app.call('/api/me', { token }))
    inFlight--
    trial.expect(answer.status === 200, () => `me: ${shown(answer)}`)
    return ms
  }
}
