import { setTimeout as sleep } from 'node:timers/promises'
import { hasHaProxy, openHaProxy } from '../../tests/support/haproxy.ts'
import { createQuickClient } from '../../tests/support/quick-client.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import { NOTHING_APPLIED } from '../naive-forms.ts'
import { LEASE_MS, withDatabase } from '../pair.ts'
import type { Row, Trial } from '../row.ts'
import { quantile, shownTimes } from '../scene.ts'

/** How much longer a logout may take when it waits until the other instances apply it, in milliseconds. */
const STRICT_COSTS_MS = 15
/** The number of checks per instance after an acknowledgement, and the lifetime of a process that is killed. */
const PACE = { few: { checks: 10, lifeMs: 2000 }, many: { checks: 50, lifeMs: 10_000 } }
const MANY = 100_000

/** Revocations are exact among processes that are paused, killed and started. */
export const clusterRows: readonly Row[] = [
  {
    id: 'G5',
    promise: 'killed at a random point of a logout: every acknowledged revocation holds after the next start',
    sizes: { ci: 4, release: 200, mutant: 2 },
    mutants: [
      {
        name: 'a logout only clears the cache',
        file: 'src/application/login-tokens/invalidating.ts',
        find: 'inner.revoke(token, atMs, timeoutMs)',
        replace: 'Promise.resolve(true)',
      },
    ],
    run: (trial) =>
      withCluster(trial, { revocation: 'strict' }, (cluster) => killDuringLogouts(trial, cluster)),
  },
  {
    id: 'G8',
    promise:
      'three processes, one paused and one killed repeatedly: none accepts a token whose revocation was acknowledged',
    sizes: { ci: 3000, release: 1_000_000, mutant: 600 },
    mutants: [NOTHING_APPLIED],
    run: (trial) => withCluster(trial, { revocation: 'strict' }, (cluster) => attack(trial, cluster)),
  },
  {
    id: 'G8b',
    promise:
      'the same with prompt revocation: the other instances apply it in milliseconds, and within a second',
    sizes: { ci: 300, release: 10_000, mutant: 20 },
    mutants: [NOTHING_APPLIED],
    run: (trial) => withCluster(trial, { revocation: 'prompt' }, (cluster) => measureWindow(trial, cluster)),
  },
  {
    id: 'G8c',
    promise: 'strict compared with prompt: logouts under load take at most 15 ms longer, and are exact',
    sizes: { ci: 200, release: 2000, mutant: 40 },
    mutants: [NOTHING_APPLIED],
    run: compareModes,
  },
]

/** Clients check on every instance continuously, also through the balancer, while one is paused and one is killed. */
async function attack(trial: Trial, cluster: Cluster): Promise<void> {
  const [first, killed, paused] = cluster.members
  const { checks: times, lifeMs } = trial.size < MANY ? PACE.few : PACE.many
  let checks = 0
  let isAllOver = false
  const healthyMs: number[] = []
  const slowMs: number[] = []
  const client = createQuickClient()
  const balancer = hasHaProxy()
    ? await openHaProxy(
        cluster.members.map((member) => Number(new URL(member.url()).port)),
        { checks: 'check inter 100 fall 1 rise 1' },
      )
    : null
  const chaos = [
    (async () => {
      while (!isAllOver) {
        await sleep(300 + Math.random() * 700)
        paused.pause()
        await sleep(100 + Math.random() * 1200)
        paused.resume()
      }
    })(),
    (async () => {
      while (!isAllOver) {
        await sleep(lifeMs * (1 + Math.random() / 2))
        await killed.restart()
      }
    })(),
  ]
  try {
    await Promise.all(cluster.emails.map(logInAndOut))
  } finally {
    isAllOver = true
    await Promise.all(chaos)
    client.close()
    await balancer?.close()
  }
  trial.note(
    `${checks} checks after an acknowledgement; logouts beside a paused process: ${shownTimes(slowMs)}`,
  )
  trial.note(`logouts otherwise, also just after a process was killed: ${shownTimes(healthyMs)}`)
  trial.note(balancer === null ? 'HAProxy is not installed' : 'also checked through HAProxy')

  async function logInAndOut(email: string): Promise<void> {
    while (checks < trial.size) {
      const token = (await post(first, '/api/login', { body: { email, password: PASSWORD } }))?.body.token
      const accepted = await post(first, '/api/me', { token })
      trial.expect(accepted?.status === 200, () => `a good token is ${accepted?.status}`)
      let isAcknowledged = false
      let isOver = false
      const load = [killed, paused].map(async (member) => {
        while (!isOver) {
          const counts = isAcknowledged
          const status = await client.me(member.url(), token)
          if (counts) check(status, member)
          else if (status === null) await sleep(20)
        }
      })
      await sleep(Math.random() * 20)
      const wasPaused = paused.isPaused()
      const beganMs = performance.now()
      const logout = await post(first, '/api/logout', { token })
      isAcknowledged = true
      ;(wasPaused || paused.isPaused() ? slowMs : healthyMs).push(performance.now() - beganMs)
      trial.expect(logout?.status === 200, () => `a logout is ${logout?.status}`)
      for (let round = 0; round < times; round++) {
        await Promise.all([
          ...cluster.members.map(async (member) => check(await client.me(member.url(), token), member)),
          ...cluster.members.map(async () => {
            if (balancer !== null) check(await client.me(balancer.url, token), paused)
          }),
        ])
      }
      isOver = true
      await Promise.all(load)
    }
  }

  function check(status: number | null, member: Member): void {
    if (status === null) return
    checks += 1
    // A paused process may find that its database deadline has passed.
    const isRight = status === 401 || (member === paused && status === 503)
    trial.expect(isRight, () => `after the acknowledgement a token is ${status}`)
  }
}

async function killDuringLogouts(trial: Trial, { members: [, killed], emails }: Cluster): Promise<void> {
  let acknowledged = 0
  for (let round = 0; round < trial.size; round++) {
    const responses = await Promise.all(
      emails.map(async (email, worker) => {
        const login = await post(killed, '/api/login', { body: { email, password: PASSWORD } })
        const token: string = login?.body.token
        const logout = post(killed, '/api/logout', { token })
        // The first one completes in any case; the others are somewhere on their way.
        if (worker === 0) await logout
        else await sleep(Math.random() * 30)
        return { token, logout }
      }),
    )
    await killed.restart()
    for (const { token, logout } of responses) {
      const isAcknowledged = (await logout)?.status === 200
      if (isAcknowledged) acknowledged += 1
      const status = (await post(killed, '/api/me', { token }))?.status
      trial.expect(
        status === 401 || (!isAcknowledged && status === 200),
        () =>
          `after the restart a token is ${status}, its logout ${isAcknowledged ? '' : 'not '}acknowledged`,
      )
    }
  }
  trial.note(
    `${acknowledged} of ${trial.size * emails.length} logouts were acknowledged before the end, 0 lost`,
  )
}

async function measureWindow(trial: Trial, { members, emails }: Cluster): Promise<void> {
  const windows: number[] = []
  const [first, ...others] = members
  await Promise.all(
    emails.map(async (email) => {
      while (windows.length < trial.size) {
        const token = (await post(first, '/api/login', { body: { email, password: PASSWORD } }))?.body.token
        for (const member of members) await post(member, '/api/me', { token })
        await post(first, '/api/logout', { token })
        const acknowledgedMs = performance.now()
        let lastMs = acknowledgedMs
        for (const member of others) {
          for (let beganMs = performance.now(); beganMs - acknowledgedMs < 2 * LEASE_MS; ) {
            if ((await post(member, '/api/me', { token }))?.status !== 200) break
            lastMs = Math.max(lastMs, beganMs)
            beganMs = performance.now()
          }
        }
        windows.push(lastMs - acknowledgedMs)
        trial.expect(lastMs - acknowledgedMs < LEASE_MS, () => 'accepted a second after its revocation')
      }
    }),
  )
  trial.note(`accepted after the acknowledgement: ${shownTimes(windows)}`)
}

/** Two sets of instances on separate databases, one of each mode, that log out in turn while they validate. */
async function compareModes(trial: Trial): Promise<void> {
  const strictMs: number[] = []
  const promptMs: number[] = []
  await withDatabase((database) =>
    withCluster(trial, { revocation: 'strict', database }, (strict) =>
      withDatabase((other) =>
        withCluster(trial, { revocation: 'prompt', database: other }, async (prompt) => {
          for (let logouts = 0; logouts < trial.size; logouts += strict.emails.length) {
            strictMs.push(...(await logOutTogether(trial, strict, 'strict')))
            promptMs.push(...(await logOutTogether(trial, prompt, 'prompt')))
          }
        }),
      ),
    ),
  )
  const laterMs = quantile(strictMs, 0.99) - quantile(promptMs, 0.99)
  trial.note(`strict: ${shownTimes(strictMs)}`)
  trial.note(`prompt: ${shownTimes(promptMs)}`)
  if (trial.judgesTimes)
    trial.expect(
      laterMs <= STRICT_COSTS_MS,
      () => `strict is ${laterMs.toFixed(1)} ms later at the 99th of 100`,
    )
}

/**
 * Returns the duration of each customer's logout on the first instance, during validations on the others, in
 * milliseconds.
 */
function logOutTogether(
  trial: Trial,
  { members, emails }: Cluster,
  revocation: 'strict' | 'prompt',
): Promise<number[]> {
  const [first, ...others] = members
  return Promise.all(
    emails.map(async (email) => {
      const token = (await post(first, '/api/login', { body: { email, password: PASSWORD } }))?.body.token
      let isRevoked = false
      const load = others.map(async (member) => {
        while (!isRevoked) await post(member, '/api/me', { token })
      })
      await sleep(Math.random() * 10)
      const beganMs = performance.now()
      const logout = await post(first, '/api/logout', { token })
      const tookMs = performance.now() - beganMs
      trial.expect(logout?.status === 200, () => `a logout is ${logout?.status}`)
      for (const member of revocation === 'strict' ? others : []) {
        const response = await post(member, '/api/me', { token })
        trial.expect(
          response?.status === 401,
          () => `after the acknowledgement a token is ${response?.status}`,
        )
      }
      isRevoked = true
      await Promise.all(load)
      return tookMs
    }),
  )
}
