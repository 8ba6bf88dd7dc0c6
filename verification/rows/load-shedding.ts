import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { addCrowd, loginOf, UNLIMITED } from '../crowd.ts'
import type { Row, Trial } from '../row.ts'
import { isRefused, isRight, shown } from '../scene.ts'

const COST = 10
const CROWD = 100
/** The last one measures the cost of an overload; the others measure the peak for comparison. */
const FACTORS = [0.5, 1, 2, 4]
/** The time in which the queue fills, in milliseconds. Only later goodput counts, as in a long overload. */
const SETTLED_MS = 2000
const GOODPUT_KEPT = 0.9

/** Logins are sent at a multiple of the capacity, whether or not earlier ones got a response. */
export const overloadRows: readonly Row[] = [
  {
    id: 'I1',
    promise: 'offered half to four times its capacity, it refuses the excess and serves the rest',
    sizes: { ci: 1, release: 10 },
    // Its capacity is measured: other rows beside it would end meanwhile.
    alone: true,
    mutants: [
      {
        name: 'the queue has no limit',
        file: 'src/adapters/bcrypt/hashing-queue.ts',
        find: 'throw new Unavailable()',
        replace: '{}',
      },
    ],
    run: (trial) =>
      withApp(trial, { env: { BCRYPT_COST: `${COST}`, ...UNLIMITED } }, async (app) => {
        const crowd = await addCrowd(app, CROWD, COST)
        const capacity = await served(app, crowd)
        trial.note(`one after another on four lines: ${capacity.toFixed(1)} logins a second`)
        const goodputs: number[] = []
        for (const factor of trial.judgesTimes ? FACTORS : FACTORS.slice(-1)) {
          const { goodput, refused, offered } = await offer(trial, app, crowd, capacity * factor)
          goodputs.push(goodput)
          trial.note(
            `${factor} times that offered: ${goodput.toFixed(1)} a second served, ${refused} of ${offered} refused`,
          )
          if (factor === 4) trial.expect(refused > 0, () => 'no login is refused at four times the capacity')
        }
        if (!trial.judgesTimes) return
        const goodputShare = (goodputs.at(-1) ?? 0) / Math.max(...goodputs)
        trial.note(`at four times, ${goodputShare.toFixed(2)} of the peak`)
        trial.expect(goodputShare >= GOODPUT_KEPT, () => `${goodputShare.toFixed(2)} of the peak is left`)
      }),
  },
]

/** Returns the number of logins a second for four clients that send one after another. */
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

/** Sends logins at this rate for as long as the row is large, and counts the successes once the queue is full. */
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
    const response = await loginOf(app, crowd[n % crowd.length] ?? '')
    trial.expect(isRight(response), () => `a login: ${shown(response)}`)
    if (isRefused(response)) refused++
    else if (elapsedMs() > SETTLED_MS && elapsedMs() < lastsMs) good++
  }
}
