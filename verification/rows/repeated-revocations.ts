import { setTimeout as sleep } from 'node:timers/promises'
import { RESTORE_WITHOUT_TOKENS } from '../../tests/support/restored-tables.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { runLatchkey } from '../../tests/support/running-process.ts'
import { openTcpProxy, type TcpProxy } from '../../tests/support/tcp-proxy.ts'
import { until } from '../../tests/support/until.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import {
  LOGIN_UNSETTLED,
  NO_FORGETTING,
  REFUSED_LOGOUT_UNSETTLED,
  TRIGGERS_NOT_COMPARED,
} from '../naive-forms.ts'
import { LEASE_MS, withDatabase } from '../pair.ts'
import type { Row, Trial } from '../row.ts'
import { shown } from '../scene.ts'

const SERVICE_SECRET = 'k7Qw-3._~+/ZxN0pLmRtYvBsDfGhJcXa'
/** Few concurrent revocations, since each polls while it waits. A restore removes many tokens. */
const CUSTOMERS = { revoked: 10, restored: 50 }

/** What responses imply for a token that was revoked elsewhere, on three instances of which one receives nothing. */
export const settlingRows: readonly Row[] = [
  {
    id: 'G13',
    promise:
      'beside a frozen listener connection: no token is accepted after a login, or a logout refused with 401, that found it revoked',
    sizes: { ci: 50, release: 1000 },
    mutants: [LOGIN_UNSETTLED, REFUSED_LOGOUT_UNSETTLED],
    run: (trial) => withFrozenListener(trial, CUSTOMERS.revoked, repeatRevocations),
  },
  {
    id: 'G14',
    promise:
      'beside a frozen listener connection: tables restored from a backup are noticed within a second, and revoking by age clears every cache',
    sizes: { ci: 50, release: 1000 },
    mutants: [TRIGGERS_NOT_COMPARED, NO_FORGETTING],
    run: (trial) => withFrozenListener(trial, CUSTOMERS.restored, restoreTables),
  },
]

type Play = (trial: Trial, cluster: Cluster, link: TcpProxy) => Promise<void>

function withFrozenListener(trial: Trial, customers: number, play: Play): Promise<void> {
  return withDatabase(async (database) => {
    const link = await openTcpProxy(database.url)
    const env = { SERVICE_TOKENS: `monitor=${SERVICE_SECRET}` }
    const envOfFirst = { DATABASE_DIRECT_URL: link.url }
    try {
      await withCluster(trial, { revocation: 'strict', database, env, envOfFirst, customers }, (cluster) =>
        play(trial, cluster, link),
      )
    } finally {
      await link.close()
    }
  })
}

/** Each customer's token is cached by the first instance, whose listener connection then freezes. */
async function repeatRevocations(
  trial: Trial,
  { members: [first, second, third], emails }: Cluster,
  link: TcpProxy,
): Promise<void> {
  for (let tried = 0; tried < trial.size; ) {
    const tokens = await cachedTokens(trial, first, second, emails)
    link.freeze()
    await Promise.all(
      tokens.map(async ({ email, token }, i) => {
        let isOver = false
        const logout = post(second, '/api/logout', { token }).finally(() => {
          isOver = true
        })
        await until(async () => isOver || (await post(third, '/api/me', { token }))?.status === 401)
        const isWaiting = !isOver
        const ending = await (i % 2 === 0
          ? post(third, '/api/login', { body: { email, password: PASSWORD } })
          : post(third, '/api/logout', { token }))
        const after = await post(first, '/api/me', { token })
        // A 503 promises nothing, and a completed logout proves nothing about this one.
        if (isWaiting && ending?.status === (i % 2 === 0 ? 200 : 401) && after?.status !== 503) {
          tried++
          trial.expect(after?.status === 401, () => `then the token is ${after && shown(after)}`)
        }
        await logout
      }),
    )
    link.thaw()
    await untilCached(first)
  }
}

/** Every instance has cached tokens that the restored backup does not contain. */
async function restoreTables(
  trial: Trial,
  { database, members, emails }: Cluster,
  link: TcpProxy,
): Promise<void> {
  const [first, second] = members
  for (let done = 0; done < trial.size; done += emails.length) {
    const tokens = await cachedTokens(trial, first, second, emails)
    for (const member of members) for (const { token } of tokens) await post(member, '/api/me', { token })
    link.freeze()
    await database.sql(RESTORE_WITHOUT_TOKENS)
    const restoredMs = performance.now()
    const revoking = runLatchkey(['token', 'revoke', '--issued-before', new Date().toISOString()], {
      cwd: trial.folder,
      env: { DATABASE_URL: database.url },
    })
    await sleep(restoredMs + LEASE_MS - performance.now())
    await Promise.all(
      members.flatMap((member) => tokens.map(({ token }) => isRefused(member, token, 'a second later'))),
    )
    trial.require((await revoking).code === 0, () => 'the command failed')
    await Promise.all(
      members.flatMap((member) => tokens.map(({ token }) => isRefused(member, token, 'after the command'))),
    )
    link.thaw()
    for (const member of members) await untilCached(member)
  }

  async function isRefused(member: Member, token: string, when: string): Promise<void> {
    const status = (await post(member, '/api/me', { token }))?.status
    trial.expect(status === 401, () => `a token that is in no table is ${status} ${when}`)
  }
}

async function cachedTokens(trial: Trial, cachedBy: Member, at: Member, emails: readonly string[]) {
  const tokens: { readonly email: string; readonly token: string }[] = []
  for (const email of emails) {
    const login = await post(at, '/api/login', { body: { email, password: PASSWORD } })
    trial.require(login?.status === 200, () => `a login is ${login && shown(login)}`)
    const token: string = login?.body?.token
    for (let use = 0; use < 3; use++) {
      const me = await post(cachedBy, '/api/me', { token })
      trial.require(me?.status === 200, () => `a good token is ${me && shown(me)}`)
    }
    tokens.push({ email, token })
  }
  return tokens
}

async function untilCached(member: Member): Promise<void> {
  await until(async () => {
    const ready = await post(member, '/readyz', { method: 'GET', token: SERVICE_SECRET })
    return ready?.body?.checks?.invalidations === 'ok'
  })
}
