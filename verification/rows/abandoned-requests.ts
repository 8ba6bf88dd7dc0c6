import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BcryptWork, watchBcrypt } from '../../tests/support/bcrypt-work.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { addCrowd, loginOf, UNLIMITED } from '../crowd.ts'
import type { Mutant, Row, Trial } from '../row.ts'
import { shown, shownTimes } from '../scene.ts'

const COST = 10
const ABANDONED = 200
/** Of about 80 logins with a slot: the number that may start before the service notices the last closed connection. */
const STRAGGLERS = 20
/** The time until all logins with a slot wait for a thread, in milliseconds. A few are hashed meanwhile. */
const QUEUED_MS = 200
const OFFSETS = 20
const STAYING = 3
/** So many that, whatever a hash takes, the queue has room for them beside those that stay. */
const LEAVING = 6
/** So slow that clients join the queue and leave it during one hash, about 0.2 s. */
const SLOW_COST = 12
/** How often that is tried, because a busy machine may finish the hash earlier. */
const TRIES = 20
/** The time limit for the hashes in progress and the stragglers, in milliseconds. */
const IDLE_MS = 1000
/** How long to wait for a hash that must not start, in milliseconds. */
const SETTLED_MS = 50

const mutants: readonly Mutant[] = [
  {
    name: 'a queued password is hashed although its client disconnected',
    file: 'src/adapters/bcrypt/queue-entry.ts',
    find: "signal?.addEventListener('abort', abort)",
    replace: '',
    and: { find: 'if (signal?.aborted) return reject(signal.reason)', replace: '' },
  },
  {
    name: 'a disconnect is not reported',
    file: 'src/adapters/http/server/connections.ts',
    find: 'exchange.cancel(CLIENT_GONE)',
    replace: '',
  },
]

/** Clients that do not wait for the response. They reset the connection: one that only ends it may wait for its response. */
export const departureRows: readonly Row[] = [
  {
    id: 'I5',
    promise: `${ABANDONED} logins abandoned after sending: only hashes in progress are finished`,
    sizes: { ci: 3, release: 30, mutant: 1 },
    mutants,
    async run(trial) {
      const env = { BCRYPT_COST: `${COST}`, HASHING_CONCURRENCY: '2', ...UNLIMITED }
      await withApp(trial, { env }, async (app) => {
        const emails = await addCrowd(app, ABANDONED, COST)
        const work = watchBcrypt()
        const idleMs: number[] = []
        let most = 0
        for (let round = 0; round < trial.size; round++) {
          const before = work.count()
          const sockets = await Promise.all(emails.map((email) => send(app, requestOf(email))))
          await until(() => work.count() >= before + 2)
          await sleep(QUEUED_MS)
          const begun = work.count() - before
          for (const socket of sockets) socket.resetAndDestroy()
          const ms = await untilIdle()
          idleMs.push(ms)
          // A process that gets no processor looks idle.
          await until(async () => (await countHashes(app, 'running')) === 0)
          if (trial.judgesTimes)
            trial.expect(ms <= IDLE_MS, () => `the processor is idle after ${Math.round(ms)} ms`)
          const done = work.count() - before
          most = Math.max(most, done - begun)
          trial.expect(
            done - begun <= STRAGGLERS,
            () => `${done} were hashed, ${begun} before the clients disconnected`,
          )
        }
        work.stop()
        const response = await loginOf(app, emails[0] ?? '')
        trial.expect(response.status === 200, () => `afterwards: ${shown(response)}`)
        trial.note(`at most ${most} started before the service noticed the disconnects`)
        trial.note(`the processor is idle again: ${shownTimes(idleMs)}`)
      })
    },
  },
  {
    id: 'B12',
    promise: `a client that disconnects at ${OFFSETS} offsets of a login, or in the queue: nothing is hashed`,
    sizes: { ci: 2, release: 50, mutant: 1 },
    mutants,
    async run(trial) {
      const env = { BCRYPT_COST: `${SLOW_COST}`, HASHING_CONCURRENCY: '1', ...UNLIMITED }
      await withApp(trial, { env }, async (app) => {
        const emails = await addCrowd(app, OFFSETS + STAYING, SLOW_COST)
        const work = watchBcrypt()
        for (let round = 0; round < trial.size; round++) {
          await breakOff(trial, app, work, emails.slice(STAYING))
          const clients = { leaving: emails.slice(-LEAVING), staying: emails.slice(0, STAYING) }
          let tries = 0
          while (!(await leaveTheQueue(trial, app, work, clients)))
            if (++tries === TRIES) throw new Error('Each time, a hash ended before all clients had left.')
        }
        work.stop()
      })
    },
  },
]

async function breakOff(
  trial: Trial,
  app: RunningApp,
  work: BcryptWork,
  emails: readonly string[],
): Promise<void> {
  for (const [index, email] of emails.entries()) {
    const request = requestOf(email)
    const before = work.count()
    const bytes = Math.ceil((request.length * (index + 1)) / (emails.length + 1))
    const socket = await send(app, request.slice(0, bytes))
    await sleep(5)
    socket.resetAndDestroy()
    await sleep(SETTLED_MS)
    const done = work.count() - before
    trial.expect(done === 0, () => `${done} hashed after ${bytes} of ${request.length} bytes`)
  }
}

/** Returns whether all clients left during the first hash; otherwise the number of hashes says nothing. */
async function leaveTheQueue(
  trial: Trial,
  app: RunningApp,
  work: BcryptWork,
  { leaving, staying }: { readonly leaving: readonly string[]; readonly staying: readonly string[] },
): Promise<boolean> {
  const before = work.count()
  const logins = Promise.all(staying.map((email) => loginOf(app, email)))
  await until(() => work.count() > before)
  const sockets = await Promise.all(leaving.map((email) => send(app, requestOf(email))))
  // A reset that arrives together with the request looks like a half-closed connection.
  const waiting = staying.length - 1 + leaving.length
  await until(async () => work.count() > before + 1 || (await countHashes(app, 'waiting')) === waiting)
  for (const socket of sockets) socket.resetAndDestroy()
  await sleep(SETTLED_MS)
  const leftInTime = work.count() === before + 1
  for (const response of await logins)
    trial.expect(response.status === 200, () => `a client that stayed got ${shown(response)}`)
  await sleep(QUEUED_MS)
  const done = work.count() - before
  if (leftInTime)
    trial.expect(done === staying.length, () => `${done} hashed for ${staying.length} clients that stayed`)
  return leftInTime
}

async function countHashes(app: RunningApp, state: 'running' | 'waiting'): Promise<number | null> {
  const families = await app.service.collectMetrics()
  return families.find(({ name }) => name === `latchkey_hashing_${state}`)?.values[0]?.value ?? null
}

/** Two thirds of the body are blanks, so that a part of it may be complete JSON. */
function requestOf(email: string): string {
  const json = JSON.stringify({ email, password: PASSWORD })
  const body = json + ' '.repeat(2 * json.length)
  return [
    'POST /api/login HTTP/1.1',
    'Host: a',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}

/** Resolves once the text was passed to the operating system. */
function send({ port }: RunningApp, text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', reject)
    socket.resume()
    socket.write(text, () => resolve(socket))
  })
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 10_000; !(await holds()); await sleep(1))
    if (performance.now() > endMs) throw new Error('The condition was never met.')
}

/** Returns the time until this process uses less than a tenth of a processor, in milliseconds. */
async function untilIdle(): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const fromMs = performance.now()
    const from = process.cpuUsage()
    await sleep(100)
    const { user, system } = process.cpuUsage(from)
    if ((user + system) / 1000 < 10) return fromMs - beganMs
    if (fromMs - beganMs > 30_000) throw new Error('The process was never idle.')
  }
}
