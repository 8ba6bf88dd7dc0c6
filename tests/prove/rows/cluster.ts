import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { type Called, type CallOptions, callAt, PASSWORD } from '../../support/running-app.ts'
import { type RunningProcess, startLatchkey } from '../../support/running-process.ts'
import { withApp } from '../app.ts'
import type { Row, Trial } from '../row.ts'
import { kill } from '../scene.ts'

const LEASE_MS = 1000
const WORKERS = 4

/** A service in a process of its own; its address changes when it is started again. */
interface Member {
  process: RunningProcess
  url: string
  isPaused: boolean
}

/** A revocation is exact among processes that are paused, killed and started meanwhile. */
export const clusterRows: readonly Row[] = [
  {
    id: 'G5',
    promise: 'killed at a random point of a logout: what was acknowledged is revoked after the next start',
    sizes: { ci: 4, release: 200, mutant: 2 },
    mutants: [
      {
        name: 'a logout empties the cache only',
        file: 'src/application/announced.ts',
        find: 'inner.revoke(token, atMs, waitMs)',
        replace: 'Promise.resolve(true)',
      },
    ],
    run: (trial) => withCluster(trial, 'strict', killDuringLogouts),
  },
  {
    id: 'G8',
    promise:
      'three processes, one paused and one killed now and then: none accepts what is acknowledged as revoked',
    sizes: { ci: 1000, release: 1_000_000, mutant: 300 },
    mutants: [
      {
        name: 'nothing that is announced is obeyed',
        file: 'src/adapters/postgres/announcing/instance.ts',
        find: 'for (const invalidation of notice.invalidations) obey(invalidation)',
        replace: '',
      },
    ],
    run: (trial) => withCluster(trial, 'strict', attack),
  },
  {
    id: 'G8b',
    promise: 'the same with prompt revocation: the others obey in milliseconds, and within a second',
    sizes: { ci: 300, release: 10_000, mutant: 20 },
    mutants: [
      {
        name: 'nothing that is announced is obeyed',
        file: 'src/adapters/postgres/announcing/instance.ts',
        find: 'for (const invalidation of notice.invalidations) obey(invalidation)',
        replace: '',
      },
    ],
    run: (trial) => withCluster(trial, 'prompt', measureWindow),
  },
]

async function attack(
  trial: Trial,
  [first, killed, paused]: Members,
  emails: readonly string[],
): Promise<void> {
  let checks = 0
  let isOver = false
  const healthyMs: number[] = []
  const slowMs: number[] = []
  const restart = killed.restart
  const chaos = [
    (async () => {
      while (!isOver) {
        await sleep(300 + Math.random() * 700)
        paused.isPaused = true
        kill(paused.process.child.pid ?? 0, 'SIGSTOP')
        await sleep(100 + Math.random() * 1200)
        kill(paused.process.child.pid ?? 0, 'SIGCONT')
        paused.isPaused = false
      }
    })(),
    (async () => {
      while (!isOver) {
        await sleep(2000 + Math.random() * 1000)
        kill(killed.process.child.pid ?? 0, 'SIGKILL')
        await killed.process.ended
        await restart()
      }
    })(),
  ]
  await Promise.all(
    emails.map(async (email) => {
      while (checks < trial.size) {
        const token = (await post(first, '/api/login', { body: { email, password: PASSWORD } }))?.body.token
        const accepted = await post(first, '/api/me', { token })
        trial.expect(accepted?.status === 200, () => `a good token is ${accepted?.status}`)
        let isRevoked = false
        const load = [killed, paused].map(async (member) => {
          while (!isRevoked) if ((await post(member, '/api/me', { token })) === null) await sleep(20)
        })
        await sleep(Math.random() * 20)
        const wasPaused = paused.isPaused
        const beganMs = performance.now()
        const logout = await post(first, '/api/logout', { token })
        ;(wasPaused || paused.isPaused ? slowMs : healthyMs).push(performance.now() - beganMs)
        trial.expect(logout?.status === 200, () => `a logout is ${logout?.status}`)
        await Promise.all(
          [first, killed, paused, killed, paused].map(async (member) => {
            const answer = await post(member, '/api/me', { token })
            if (answer === null) return
            checks += 1
            // A process that was paused may find that its second for the database is over.
            const isRight = answer.status === 401 || (member === paused && answer.status === 503)
            trial.expect(isRight, () => `after the acknowledgement a token is ${answer.status}`)
          }),
        )
        isRevoked = true
        await Promise.all(load)
      }
    }),
  )
  isOver = true
  await Promise.all(chaos)
  trial.note(`${checks} checks after an acknowledgement; logouts beside a paused process: ${shares(slowMs)}`)
  trial.note(`logouts otherwise, also just after a process was killed: ${shares(healthyMs)}`)
}

async function killDuringLogouts(
  trial: Trial,
  [, killed]: Members,
  emails: readonly string[],
): Promise<void> {
  let acknowledged = 0
  for (let round = 0; round < trial.size; round++) {
    const answers = await Promise.all(
      emails.map(async (email, worker) => {
        const login = await post(killed, '/api/login', { body: { email, password: PASSWORD } })
        const token: string = login?.body.token
        const logout = post(killed, '/api/logout', { token })
        // The first one is answered in any case; the others are somewhere on their way.
        if (worker === 0) await logout
        else await sleep(Math.random() * 30)
        return { token, logout }
      }),
    )
    kill(killed.process.child.pid ?? 0, 'SIGKILL')
    await killed.process.ended
    await killed.restart()
    for (const { token, logout } of answers) {
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

async function measureWindow(trial: Trial, members: Members, emails: readonly string[]): Promise<void> {
  const windows: number[] = []
  await Promise.all(
    emails.map(async (email) => {
      while (windows.length < trial.size) {
        const token = (await post(members[0], '/api/login', { body: { email, password: PASSWORD } }))?.body
          .token
        for (const member of members) await post(member, '/api/me', { token })
        await post(members[0], '/api/logout', { token })
        const acknowledgedMs = performance.now()
        let lastMs = acknowledgedMs
        for (const member of [members[1], members[2]]) {
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
  trial.note(`accepted after the acknowledgement: ${shares(windows)}`)
}

type Members = readonly [Member, Member & { readonly restart: () => Promise<void> }, Member]

async function withCluster(
  trial: Trial,
  revocation: string,
  play: (trial: Trial, members: Members, emails: readonly string[]) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase()
  const members: Member[] = []
  try {
    const emails: string[] = []
    await withApp(trial, { database }, async (app) => {
      for (let i = 0; i < WORKERS; i++) emails.push((await app.addCustomer()).email)
    })
    for (let i = 0; i < 3; i++) members.push(await start(trial, database, revocation))
    await sleep(LEASE_MS)
    const [first, second, third] = members as [Member, Member, Member]
    const restart = async () => {
      Object.assign(second, await start(trial, database, revocation))
    }
    await play(trial, [first, Object.assign(second, { restart }), third], emails)
  } finally {
    for (const { process } of members) {
      kill(process.child.pid ?? 0, 'SIGCONT')
      kill(process.child.pid ?? 0, 'SIGTERM')
    }
    await Promise.all(members.map(({ process }) => process.ended))
    await database.drop()
  }
}

async function start(trial: Trial, database: TestDatabase, revocation: string): Promise<Member> {
  const env = { PORT: '0', DATABASE_URL: database.url, REVOCATION: revocation, BCRYPT_COST: '4' }
  const process = startLatchkey(['serve'], { cwd: trial.folder, env })
  const [, url = ''] = await process.until(/"address":"(http:[^"]+)"/)
  return { process, url, isPaused: false }
}

/** Null when nobody answered. */
function post({ url }: Member, path: string, options: CallOptions): Promise<Called | null> {
  return callAt(url, path, options).catch(() => null)
}

function shares(times: number[]): string {
  times.sort((a, b) => a - b)
  const at = (share: number) => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at the most ${at(1)} ms of ${times.length}`
}
