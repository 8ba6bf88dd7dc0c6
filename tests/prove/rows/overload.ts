import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningApp } from '../../support/running-app.ts'
import { withApp } from '../app.ts'
import { addCrowd, loginOf, UNLIMITED } from '../crowd.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, isRight, shown } from '../scene.ts'

const COST = 10
const CROWD = 100
/** The last one tells what an overload costs, the others the peak that it is held against. */
const FACTORS = [0.5, 1, 2, 4]
/** Until then the queue fills; what is served later is what a long overload would see. */
const SETTLED_MS = 2000
const GOODPUT_KEPT = 0.9

/** Logins offered at a multiple of what is served, whether earlier ones were answered or not. */
export const overloadRows: readonly Row[] = [
  {
    id: 'I1',
    promise: 'offered half to four times what it can do, it refuses the excess and goes on with the rest',
    sizes: { ci: 1, release: 10 },
    mutants: [
      {
        name: 'the queue has no bound',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'throw new Unavailable()',
        replace: '{}',
      },
    ],
    run: (trial) =>
      withApp(trial, { env: { BCRYPT_COST: `${COST}`, ...UNLIMITED } }, async (app) => {
        const crowd = await addCrowd(app, CROWD, COST)
        const capacity = await served(app, crowd)
        trial.note(`one after the other in four lines: ${capacity.toFixed(1)} logins a second`)
        const goodputs: number[] = []
        for (const factor of trial.judgesTimes ? FACTORS : FACTORS.slice(-1)) {
          const { goodput, refused, offered } = await offer(trial, app, crowd, capacity * factor)
          goodputs.push(goodput)
          trial.note(
            `${factor} times that offered: ${goodput.toFixed(1)} a second served, ${refused} of ${offered} refused`,
          )
          if (factor === 4)
            trial.expect(refused > 0, () => 'nobody is refused at four times of what it can do')
        }
        if (!trial.judgesTimes) return
        const kept = (goodputs.at(-1) ?? 0) / Math.max(...goodputs)
        trial.note(`at four times, ${kept.toFixed(2)} of the peak`)
        trial.expect(kept >= GOODPUT_KEPT, () => `${kept.toFixed(2)} of the peak is left`)
      }),
  },
]

/** How many logins a second are served to clients who wait for each other. */
async function served(app: RunningApp, crowd: readonly string[]): Promise<number> {
  const beganMs = performance.now()
  let count = 0
  async function line(of: number): Promise<void> {
    for (let i = of; performance.now() - beganMs < SETTLED_MS; i += 4) {
      await loginOf(app, crowd[i % crowd.length] ?? '')
      count++
    }
  }
  await Promise.all([0, 1, 2, 3].map(line))
  return (count / (performance.now() - beganMs)) * 1000
}

/** Offers so many logins a second for as long as the row is large, and counts what is served once the queue is full. */
async function offer(trial: Trial, app: RunningApp, crowd: readonly string[], perSecond: number) {
  const lastsMs = SETTLED_MS + trial.size * 1000
  const asked: Promise<void>[] = []
  let good = 0
  let refused = 0
  const beganMs = performance.now()
  const elapsedMs = () => performance.now() - beganMs
  while (elapsedMs() < lastsMs) {
    while (asked.length < (elapsedMs() / 1000) * perSecond) asked.push(login(asked.length))
    await sleep(5)
  }
  await Promise.all(asked)
  return { goodput: good / trial.size, refused, offered: asked.length }

  async function login(n: number): Promise<void> {
    const answer = await loginOf(app, crowd[n % crowd.length] ?? '')
    trial.expect(isRight(answer), () => `a login: ${shown(answer)}`)
    if (isRefused(answer)) refused++
    else if (elapsedMs() > SETTLED_MS && elapsedMs() < lastsMs) good++
  }
}
