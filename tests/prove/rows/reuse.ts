import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { hasHaProxy, openHaProxy } from '../../support/haproxy.ts'
import { hasNginx, openNginx } from '../../support/nginx.ts'
import { PASSWORD, type RunningApp } from '../../support/running-app.ts'
import { withApp } from '../app.ts'
import { type Row, Skipped, type Trial } from '../row.ts'

const KEEP_ALIVE_MS = 2000
/** Each wave finds its connections idle for so long: a little less than what ends them. */
const IDLE_MS = 1800
/** The service is busy while a wave arrives, until the time of its connections is over. */
const BUSY_MS = 400
/** Node writes a request within these. */
const TICKS = 10
/** No more than the shipped settings of nginx keep, of each of its processes. */
const CLIENTS = 50

/** A connection on which a balancer sends again, just when the service might give it up. */
export const reuseRows: readonly Row[] = [
  {
    id: 'M1',
    promise:
      'nginx keeps connections a little less long than the service, or as long, and HAProxy: no reuse is lost',
    sizes: { ci: 100, release: 20_000 },
    mutants: [
      {
        name: 'an idle connection ends as soon as the balancer might end it',
        file: 'src/adapters/http/server/server.ts',
        // Node adds a second of its own, and the service is busy when the time is over.
        find: 'keepAliveTimeout: settings.keepAliveTimeoutMs',
        replace: 'keepAliveTimeout: settings.keepAliveTimeoutMs - 990',
      },
    ],
    async run(trial) {
      if (!hasNginx() || !hasHaProxy()) throw new Skipped('nginx and HAProxy are not both on this machine')
      const env = { KEEP_ALIVE_TIMEOUT: `${KEEP_ALIVE_MS}ms` }
      await withApp(trial, {}, (patient) => withApp(trial, { env }, (app) => reuse(trial, app, patient)))
    },
  },
]

/** HAProxy has no such time, but ends what is idle within some: it stands before the service with its default. */
async function reuse(trial: Trial, app: RunningApp, patient: RunningApp): Promise<void> {
  const token = await logIn(app)
  // None of them: while the process is busy it would be taken for one that is gone.
  const checks = 'no-check pool-purge-delay 2s'
  const balancers = [
    {
      name: 'nginx, 20 ms less',
      token,
      ...(await openNginx([app.port], { idle: `${KEEP_ALIVE_MS - 20}ms` })),
    },
    { name: 'nginx, as long', token, ...(await openNginx([app.port], { idle: `${KEEP_ALIVE_MS}ms` })) },
    { name: 'HAProxy', token: await logIn(patient), ...(await openHaProxy([patient.port], { checks })) },
  ]
  const agents = balancers.flatMap((balancer) =>
    Array.from({ length: CLIENTS }, () => ({
      ...balancer,
      agent: new Agent({ keepAlive: true, maxSockets: 1 }),
    })),
  )
  const reuses = countReuses()
  try {
    while (reuses.count() < trial.size) {
      // From here on timers come before what arrives meanwhile, those of connections among them.
      await turn()
      const wave = agents.map(async (by) => {
        const seen = await post(`${by.url}/api/me`, by.token, by.agent)
        trial.expect(seen === 200, () => `by way of ${by.name}: ${seen}`)
      })
      // Sent by now, it arrives while this process, and so the service, does something else.
      for (let tick = 0; tick < TICKS; tick++) await new Promise<void>((resolve) => process.nextTick(resolve))
      for (const endMs = performance.now() + BUSY_MS; performance.now() < endMs; );
      await Promise.all(wave)
      await sleep(IDLE_MS)
    }
    trial.note(`${reuses.count()} reuses of connections, ${reuses.fresh()} requests on new ones`)
  } finally {
    reuses.stop()
    for (const { agent } of agents) agent.destroy()
    for (const balancer of balancers) await balancer.close()
  }
}

async function logIn(app: RunningApp): Promise<string> {
  const { email } = await app.addCustomer()
  return app.login(email, PASSWORD)
}

/** The status, or how the connection failed. */
function post(url: string, token: string, agent: Agent): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    request(url, { method: 'POST', agent, headers: { Authorization: `Bearer ${token}` } })
      .on('response', (response) => response.resume().once('end', () => resolve(response.statusCode)))
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      .end()
  })
}

/** Counts how often a connection to this process carries another request. */
function countReuses(): { count(): number; fresh(): number; stop(): void } {
  const known = new WeakSet<object>()
  let [reused, fresh] = [0, 0]
  const began = (message: unknown) => {
    const { request: begun } = message as { request: IncomingMessage }
    if (begun.url !== '/api/me') return
    if (known.has(begun.socket)) reused++
    else fresh++
    known.add(begun.socket)
  }
  subscribe('http.server.request.start', began)
  return {
    count: () => reused,
    fresh: () => fresh,
    stop: () => void unsubscribe('http.server.request.start', began),
  }
}
