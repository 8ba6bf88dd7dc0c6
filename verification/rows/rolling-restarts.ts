import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { callAt } from '../../src/testing/call.ts'
import { type Balancer, listensAt } from '../../tests/support/balancer.ts'
import { type HaProxy, hasHaProxy, openHaProxy } from '../../tests/support/haproxy.ts'
import { hasNginx, openNginx } from '../../tests/support/nginx.ts'
import { comparable, sendRaw } from '../../tests/support/raw-http.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import type { Ended } from '../../tests/support/running-process.ts'
import { type Fleet, findExitFlaw, type Instance, withFleet } from '../fleet.ts'
import { type RespondedRequest, startLoad } from '../load.ts'
import { type Mutant, type Row, Skipped, type Trial } from '../row.ts'
import { shownTimes } from '../scene.ts'

const RATE = 200
/** The longest exit, from the signal on, whatever the clients do, in milliseconds. */
const EXIT_MS = 10_000
/** More than the time that both balancers need to use an instance again, in milliseconds. */
const BACK_MS = 2500
/** How long after its signal an instance still serves, in milliseconds. */
const NOTICED_MS = 300
const SECOND_SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** More than the time in which a repeated signal counts as the first one, in milliseconds. */
const LATER_MS = 1500
const AT_ONCE_MS = 1000
/** More than the time limit of a process to exit before it is killed, in milliseconds. */
const HANGS_MS = 12_000

/** The number of restarts. The two instances take turns. */
const restartsOf = ({ size }: Trial) => (size >= 100_000 ? 20 : 1)

const drainMutants: readonly Mutant[] = [
  {
    name: 'the drain does not wait for its delay',
    file: 'src/adapters/http/server/drain.ts',
    find: 'if (delayMs > 0) await sleep(delayMs)',
    replace: '',
  },
  {
    name: 'connections stay open while it drains',
    file: 'src/adapters/http/server/server.ts',
    find: 'exchange.closes = draining',
    replace: 'exchange.closes = false',
  },
  {
    name: 'it does not wait for requests in flight',
    file: 'src/adapters/http/server/drain.ts',
    find: 'await new Promise<void>((resolve) => tracker.whenIdle(resolve))',
    replace: '',
  },
]

/** Instances that stop and start under load, as in a rolling deployment. */
export const restartRows: readonly Row[] = [
  {
    id: 'L1',
    promise: 'rolling restarts of two instances behind HAProxy, 200 requests a second: none fails',
    alone: true,
    sizes: { ci: 800, release: 100_000, mutant: 400 },
    mutants: [
      ...drainMutants,
      {
        name: 'ready while it drains',
        file: 'src/composition/readiness-report.ts',
        find: 'ready: ready && !draining,',
        replace: 'ready,',
      },
    ],
    async run(trial) {
      if (!hasHaProxy()) throw new Skipped('HAProxy is not installed')
      let counts: HaProxy['counts'] | undefined
      await rollBehind(
        trial,
        async (ports) => {
          const balancer = await openHaProxy(ports)
          counts = balancer.counts
          return balancer
        },
        async () => {
          const seen = (await counts?.()) ?? []
          const sum = (name: string) => seen.reduce((total, of) => total + Number(of[name]), 0)
          trial.note(
            `HAProxy repeated ${sum('wretr')} connects, ${sum('wredis')} on the other instance; ${sum('reuse')} requests on reused connections`,
          )
        },
      )
    },
  },
  {
    id: 'L1b',
    promise: 'the same behind nginx, which does not check readiness',
    alone: true,
    sizes: { ci: 800, release: 100_000, mutant: 400 },
    mutants: drainMutants,
    async run(trial) {
      if (!hasNginx()) throw new Skipped('nginx is not installed')
      await rollBehind(trial, (ports) => openNginx(ports))
    },
  },
  {
    id: 'L2',
    promise:
      'SIGINT, or SIGTERM once more after half a second, ends a drain at once; SIGHUP, SIGPIPE and a repeat do not: no stack',
    sizes: { ci: 1, release: 20 },
    mutants: [
      {
        name: 'a second signal is ignored',
        file: 'src/program/signals.ts',
        find: '    kill()\n    process.exit(1)',
        replace: '',
      },
      {
        name: 'SIGHUP stops it',
        file: 'src/program/signals.ts',
        find: 'if (isEnding) return\n',
        replace: "if (isEnding) return endAtOnce('SIGHUP')\n",
      },
      {
        name: 'SIGPIPE stops it',
        file: 'src/program/signals.ts',
        find: "process.on('SIGTERM', endBy)",
        replace: "process.on('SIGPIPE', () => endBy('SIGHUP')).on('SIGTERM', endBy)",
      },
    ],
    async run(trial) {
      const tookMs: number[] = []
      for (let round = 0; round < trial.size; round++) {
        const fleet = { count: SECOND_SIGNALS.length + 1, customers: 0, env: { DRAIN_DELAY: '1m' } }
        await withFleet(trial, fleet, async ({ instances: [first, ...others] }) => {
          if (first === undefined) return
          await Promise.all([
            disturb(trial, first),
            ...SECOND_SIGNALS.map(async (signal, i) => {
              const instance = others[i]
              if (instance !== undefined) tookMs.push(await signalTwice(trial, instance, signal))
            }),
          ])
        })
      }
      trial.note(`from the second signal to the exit: ${shownTimes(tookMs)}`)
    },
  },
]

/** Returns the duration of the exit, in milliseconds. */
async function signalTwice(trial: Trial, instance: Instance, second: NodeJS.Signals): Promise<number> {
  await drain(instance)
  if (second === 'SIGTERM') await sleep(LATER_MS)
  const beganMs = performance.now()
  instance.running().child.kill(second)
  const { code, signal, stderr } = await endingSignal(instance)
  const tookMs = performance.now() - beganMs
  trial.expect(code === 1, () => `by ${second} it ended with ${signal ?? code}`)
  trial.expect(!/\n\s+at /.test(stderr), () => `a stack: ${stderr}`)
  if (trial.judgesTimes) trial.expect(tookMs <= AT_ONCE_MS, () => `it took ${Math.round(tookMs)} ms`)
  return tookMs
}

/** Sends the signals that must not end a drain. */
async function disturb(trial: Trial, instance: Instance): Promise<void> {
  await instance.start()
  const { child } = instance.running()
  for (let i = 0; i < 20; i++) child.kill('SIGTERM')
  await instance.running().until(/"service\.stopping"/)
  for (const signal of ['SIGHUP', 'SIGPIPE'] as const) {
    child.kill(signal)
    await sleep(100)
  }
  const { responses } = await sendRaw(instance.port, 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n', {
    responses: 1,
  })
  trial.expect(responses[0]?.status === 200, () => `after SIGHUP and SIGPIPE: ${responses[0]?.status}`)
  child.kill('SIGINT')
  await endingSignal(instance)
}

async function drain(instance: Instance): Promise<void> {
  await instance.start()
  instance.running().child.kill('SIGTERM')
  await instance.running().until(/"service\.stopping"/)
}

/** Restarts the instances in turn under load through their balancer, while other clients misbehave. */
async function rollBehind(
  trial: Trial,
  open: (ports: readonly number[]) => Promise<Balancer>,
  checkStatus: () => Promise<void> = async () => {},
): Promise<void> {
  const restarts = restartsOf(trial)
  const env = { DRAIN_DELAY: restarts > 2 ? '5s' : '2s', DRAIN_DEADLINE: '4s', TRUST_PROXY: '1' }
  await withFleet(trial, { count: 2, customers: 12, env }, async (fleet) => {
    await Promise.all(fleet.instances.map((instance) => instance.start()))
    const balancer = await open(fleet.instances.map(({ port }) => port))
    const exitMs: number[] = []
    const signalledMs: number[] = []
    try {
      const [lasting = '', ...others] = fleet.emails
      const token = await logIn(balancer.url, lasting)
      const load = startLoad({ url: balancer.url, rate: RATE, count: trial.size, token, emails: others })
      for (let restart = 0; restart < restarts; restart++) {
        const instance = fleet.instances[restart % 2]
        if (restart > 0) await sleep(BACK_MS)
        if (instance === undefined) continue
        signalledMs.push(performance.now())
        exitMs.push(await restartUnderLoad(trial, fleet, instance, token))
        await load.until(((restart + 1) * trial.size) / restarts)
      }
      for (const responded of await load.ended)
        trial.expect(responded.seen === 200, () => shownFailure(responded, signalledMs))
      await checkStatus()
    } finally {
      await balancer.close()
    }
    trial.note(`${restarts} restarts; from the signal to the exit: ${shownTimes(exitMs)}`)
  })
}

function shownFailure(
  { path, seen, byInstance, sentMs, tookMs }: RespondedRequest,
  signalledMs: readonly number[],
): string {
  const agoMs = sentMs - (signalledMs.findLast((ms) => ms <= sentMs) ?? sentMs)
  const by = byInstance ? 'an instance' : 'the balancer'
  return `POST ${path}: ${seen} by ${by} after ${Math.round(tookMs)} ms, sent ${Math.round(agoMs)} ms after a signal`
}

/** Restarts an instance under load. Returns the duration of the exit, in milliseconds. */
async function restartUnderLoad(
  trial: Trial,
  { emails }: Fleet,
  instance: Instance,
  token: string,
): Promise<number> {
  const { port } = instance
  const running = instance.running()
  const idle = connect(port, '127.0.0.1')
    .resume()
    .on('error', () => {})
  idle.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
  const dripping = connect(port, '127.0.0.1')
    .resume()
    .on('error', () => {})
  const drip = setInterval(() => dripping.write('x'), 200)
  dripping.write('GET /')
  await sleep(50)

  const beganMs = performance.now()
  running.child.kill('SIGTERM')
  await running.until(/"service\.stopping"/)
  const inFlight = splitLogin(port, emails.at(-1) ?? '', running.ended)
  // A drain without a delay would have ended.
  await sleep(NOTICED_MS)
  const patient = { responses: 1, quietMs: EXIT_MS }
  const [ready, me] = await Promise.all([
    sendRaw(port, 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n', patient),
    sendRaw(port, `POST /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`, {
      responses: 1,
    }),
  ])
  const seen = [ready, me].map(({ responses: [response] }) =>
    response === undefined ? null : [response.status, comparable(response).headers.Connection],
  )
  const right = JSON.stringify([
    [503, 'close'],
    [200, 'close'],
  ])
  trial.require(
    JSON.stringify(seen) === right,
    () => `readyz and me while it drains: ${JSON.stringify(seen)}`,
  )

  const flaw = findExitFlaw(await endingSignal(instance))
  const tookMs = performance.now() - beganMs
  clearInterval(drip)
  for (const socket of [idle, dripping]) socket.destroy()
  trial.require(flaw === null, () => `${flaw}`)
  if (trial.judgesTimes) trial.require(tookMs <= EXIT_MS, () => `the exit took ${Math.round(tookMs)} ms`)
  const status = await inFlight
  trial.require(status === 200, () => `a login in flight when the listener closed: ${status}`)
  await instance.start()
  return tookMs
}

/**
 * Sends the last byte of a login only after the port accepts no connection any more. Returns its status, or null when
 * none came.
 */
async function splitLogin(port: number, email: string, ended: Promise<unknown>): Promise<number | null> {
  const body = JSON.stringify({ email, password: PASSWORD })
  const head = `POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const socket = connect(port, '127.0.0.1')
  let response = ''
  socket.setEncoding('latin1').on('data', (text) => {
    response += text
  })
  socket.on('error', () => {})
  socket.write(head + body.slice(0, -1))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver && (await listensAt(port))) await sleep(50)
  socket.write(body.slice(-1))
  await closed
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(response) ?? []
  return status === undefined ? null : Number(status)
}

async function logIn(url: string, email: string): Promise<string> {
  const { status, body } = await callAt(url, '/api/login', { body: { email, password: PASSWORD } })
  if (status !== 200) throw new Error(`a login before the load is ${status}`)
  return body.token
}

/** Stops the process, by force if necessary. Returns how it exited. */
async function endingSignal(instance: Instance): Promise<Ended> {
  const { child, ended } = instance.running()
  const timer = setTimeout(() => child.kill('SIGKILL'), HANGS_MS)
  return ended.finally(() => clearTimeout(timer))
}
