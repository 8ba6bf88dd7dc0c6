import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { hasHaProxy, openHaProxy } from '../../tests/support/haproxy.ts'
import { hasNginx, openNginx } from '../../tests/support/nginx.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { withApp } from '../app.ts'
import { type Row, Skipped, type Trial } from '../row.ts'

const KEEP_ALIVE_MS = 2000
/** How long connections are idle before each wave: a little less than the timeout, in milliseconds. */
const IDLE_MS = 1800
/** How long the service is busy while a wave arrives, until its connections time out, in milliseconds. */
const BUSY_MS = 400
/** The number of ticks in which Node writes a request. */
const TICKS = 10
/** At most as many as each nginx process caches with the shipped settings. */
const CLIENTS = 50

/** A balancer reuses a connection just when the service might close it. */
export const reuseRows: readonly Row[] = [
  {
    id: 'M1',
    promise:
      'nginx with a slightly shorter keep-alive timeout than the service, or the same one, and HAProxy: no reused connection fails',
    sizes: { ci: 100, release: 20_000 },
    mutants: [
      {
        name: 'an idle connection ends as soon as the balancer might end it',
        file: 'src/adapters/http/server/server.ts',
        find: 'Math.ceil(settings.keepAliveTimeoutMs / SWEEP_MS) + 1',
        replace: 'Math.ceil(settings.keepAliveTimeoutMs / SWEEP_MS) - 1',
      },
    ],
    async run(trial) {
      if (!hasNginx() || !hasHaProxy()) throw new Skipped('nginx and HAProxy are not both installed')
      const env = { KEEP_ALIVE_TIMEOUT: `${KEEP_ALIVE_MS}ms` }
      await withApp(trial, {}, (patient) => withApp(trial, { env }, (app) => reuse(trial, app, patient)))
    },
  },
]

/**
 * HAProxy has no such timeout, but closes idle connections within some time. It runs in front of the service with the
 * default timeout.
 */
async function reuse(trial: Trial, app: RunningApp, patient: RunningApp): Promise<void> {
  const token = await logIn(app)
  // No health checks: a busy process would count as down.
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
      // From here on timers run before incoming messages, including those of connections.
      await turn()
      const wave = agents.map(async (by) => {
        const seen = await post(`${by.url}/api/me`, by.token, by.agent)
        trial.expect(seen === 200, () => `through ${by.name}: ${seen}`)
      })
      // The request is sent now and arrives while this process, and so the service, is busy.
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

/** Returns the status, or the error code of the connection. */
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
