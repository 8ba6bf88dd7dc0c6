import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Called } from '../../src/testing/call.ts'
import type { TestDatabase } from '../../tests/support/database.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { openTcpProxy, type TcpProxy } from '../../tests/support/tcp-proxy.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import {
  anomaliesIn,
  type History,
  type Operation,
  type OperationOutcome,
  openHistory,
  readHistory,
  shownAnomaly,
} from '../history.ts'
import {
  ACKNOWLEDGED_BEFORE_APPLIED,
  ENDLESS_LEASE,
  NOTHING_APPLIED,
  REVOKED_AGAIN,
  STORE_LOGIN,
} from '../naive-forms.ts'
import { withDatabase } from '../pair.ts'
import { type Row, Skipped, type Trial } from '../row.ts'
import { shown } from '../scene.ts'

/** Many, since most of them wait for an acknowledgement during a fault. */
const CUSTOMERS = 16
/** The customers of several devices, and the devices of each. */
const FEWER_CUSTOMERS = 6
const DEVICES = 3
/** The number of operations before the first fault. */
const CALM = 300
/** Longer than a lease, and shorter than the silence limit of a listener connection. */
const FROZEN_MS = 1900

/** Recorded histories of clients, checked against a write-once register. */
export const historyRows: readonly Row[] = [
  {
    id: 'G12',
    promise:
      'every run logs invoke and return: to a checker each customer is a register of one login token, 0 anomalies',
    sizes: { ci: 3000, release: 200_000 },
    mutants: [
      ACKNOWLEDGED_BEFORE_APPLIED,
      NOTHING_APPLIED,
      ENDLESS_LEASE,
      {
        name: "a login revokes everybody's tokens",
        file: STORE_LOGIN,
        find: "where customer_id = $2 and name = 'login' and revoked_at is null",
        replace: "where $2::uuid is not null and name = 'login' and revoked_at is null",
      },
      REVOKED_AGAIN,
    ],
    run: (trial) => recordAndCheck(trial),
  },
  {
    id: 'G12b',
    promise:
      'the same for customers of three devices: a session ends by its device, another device or the database, and no other session with it',
    sizes: { ci: 3000, release: 200_000 },
    mutants: [
      NOTHING_APPLIED,
      {
        name: 'the end of one session ends all of them',
        file: 'src/application/use-cases/sessions.ts',
        find: 'revoke(caller, { id }, deadline, requester)',
        replace: 'revoke(caller, {}, deadline, requester)',
      },
    ],
    run: (trial) => recordAndCheck(trial, { devices: DEVICES }),
  },
  {
    id: 'G15',
    promise: 'the same while one of the instances is of an earlier version',
    sizes: { ci: 1500, release: 50_000 },
    mutants: [NOTHING_APPLIED],
    async run(trial) {
      const { EARLIER_CHECKOUT } = process.env
      if (EARLIER_CHECKOUT === undefined) throw new Skipped('EARLIER_CHECKOUT names no checkout')
      await recordAndCheck(trial, { earlierCheckout: EARLIER_CHECKOUT })
    },
  },
]

async function recordAndCheck(
  trial: Trial,
  { earlierCheckout, devices = 1 }: { readonly earlierCheckout?: string; readonly devices?: number } = {},
): Promise<void> {
  const file = join(trial.folder, 'history.ndjson')
  await withDatabase(
    async (database) => {
      const link = await openTcpProxy(database.url)
      try {
        const envOfFirst = { DATABASE_DIRECT_URL: link.url }
        await withCluster(
          trial,
          {
            ...{ revocation: 'strict', database, envOfFirst, earlierCheckout },
            customers: devices === 1 ? CUSTOMERS : FEWER_CUSTOMERS,
            // More than the devices: a login whose outcome is unknown takes a slot until it is undone.
            ...(devices > 1 && { env: { LOGIN_SESSIONS: '100' } }),
          },
          (cluster) => recordHistory(trial, { file, cluster, link, devices }),
        )
      } finally {
        await link.close()
      }
    },
    { migrated: earlierCheckout === undefined },
  )
  await check(trial, file)
}

async function recordHistory(
  trial: Trial,
  {
    file,
    cluster,
    link,
    devices,
  }: {
    readonly file: string
    readonly cluster: Cluster
    readonly link: TcpProxy
    readonly devices: number
  },
): Promise<void> {
  const history = openHistory(file)
  const customers = cluster.emails.flatMap((email) =>
    devices === 1
      ? toCustomer(trial, history, cluster, email)
      : toDevices(trial, history, cluster, email, devices),
  )
  const live = (isOver: () => boolean) =>
    Promise.all(customers.map((customer) => liveAs(customer, cluster, link.isFrozen, isOver)))
  // New processes are slow at first, and a fault without load proves nothing.
  await live(() => history.size() >= CALM)
  const chaos = startChaos(faultsOf(cluster, link))
  try {
    await live(() => history.size() >= trial.size && chaos.isComplete())
  } finally {
    await chaos.end()
    history.close()
  }
  trial.note(`faults meanwhile: ${tally(chaos.seen())}`)
}

async function check(trial: Trial, file: string): Promise<void> {
  const operations = await readHistory(file)
  const found = new Map(anomaliesIn(operations).map((anomaly) => [anomaly.operation, anomaly]))
  for (const operation of operations) {
    const anomaly = found.get(operation)
    trial.expect(anomaly === undefined, () => (anomaly === undefined ? '' : shownAnomaly(anomaly)))
  }
  const tokens = new Set(operations.map(({ token }) => token)).size
  trial.note(`${operations.length} operations on ${tokens} tokens: ${tally(operations.map(kindOf))}`)
}

interface Token {
  /** Its name in the history, which must not contain secrets. */
  readonly name: string
  readonly secret: string
}

/** A customer, or a device of one, whose operations are all recorded. */
interface Customer {
  /** Replaces the token of the login before, except on a device. Returns null when no response arrived. */
  login(at: Member): Promise<Token | null>
  logout(at: Member, token: Token): Promise<OperationOutcome>
  validate(at: Member, token: Token): Promise<OperationOutcome>
  /** As an operator with psql. */
  update(token: Token): Promise<OperationOutcome>
  /** Ends the session of a device by another device. */
  end?(at: Member, token: Token): Promise<OperationOutcome>
}

function toCustomer(trial: Trial, history: History, { database }: Cluster, email: string): Customer {
  let tokens = 0

  return {
    async login(at) {
      let secret: string | undefined
      tokens += 1
      const name = `${email}/${tokens}`
      await history.record({ customer: email, token: name, does: 'login', at: at.name }, async () => {
        const response = await post(at, '/api/login', { body: { email, password: PASSWORD } })
        trial.require(response?.status !== 401, () => `a login is ${response && shown(response)}`)
        secret = response?.body?.token
        return outcomeOf(response)
      })
      return secret === undefined ? null : { name, secret }
    },
    logout: (at, token) => ask('logout', '/api/logout', at, token),
    validate: (at, token) => ask('validate', '/api/me', at, token),
    update: ({ name, secret }) =>
      history.record({ customer: email, token: name, does: 'update', at: 'database' }, () =>
        revokeInside(database, secret),
      ),
  }

  function ask(does: Operation['does'], path: string, at: Member, { name, secret }: Token) {
    return history.record({ customer: email, token: name, does, at: at.name }, async () =>
      outcomeOf(await post(at, path, { token: secret })),
    )
  }

  function outcomeOf(response: Called | null): OperationOutcome {
    if (response?.status === 200) return 'accepted'
    if (response?.status === 401) return 'refused'
    trial.require(
      response === null || response.status === 503,
      () => `on the wire: ${response && shown(response)}`,
    )
    return 'unknown'
  }
}

/**
 * Returns the devices of one customer. To the checker each is a customer of its own. A login replaces no session, so it is not recorded.
 */
function toDevices(
  trial: Trial,
  history: History,
  cluster: Cluster,
  email: string,
  count: number,
): readonly Customer[] {
  const held: (Token | null)[] = Array.from({ length: count }, () => null)
  const ids = new Map<string, string>()
  let logins = 0

  return held.map((_, device) => {
    const customer = `${email} on device ${device}`
    return {
      ...toCustomer(trial, history, cluster, customer),
      async login(at) {
        const response = await post(at, '/api/login', { body: { email, password: PASSWORD } })
        trial.require(response?.status !== 401, () => `a login is ${response && shown(response)}`)
        const secret = response?.body?.token
        if (secret === undefined) return null
        logins += 1
        const token = { name: `${customer}/${logins}`, secret }
        const listed = await post(at, '/api/sessions', { method: 'GET', token: secret })
        const own = listed?.body?.sessions?.find(({ current }: { readonly current: boolean }) => current)
        if (own !== undefined) ids.set(token.name, own.id)
        held[device] = token
        return token
      },
      async end(at, { name }) {
        const other = held[(device + 1) % count]
        const id = ids.get(name)
        if (!other || id === undefined) return 'unknown'
        // The same as a logout: it says that no instance accepts the token.
        return history.record({ customer, token: name, does: 'logout', at: at.name }, async () => {
          const response = await post(at, `/api/sessions/${id}`, { method: 'DELETE', token: other.secret })
          if (response?.status === 200) return 'accepted'
          // The other device has no session by now when it is 401.
          return response?.status === 404 ? 'refused' : 'unknown'
        })
      },
    }
  })
}

async function revokeInside({ sql }: TestDatabase, secret: string): Promise<OperationOutcome> {
  const digest = createHash('sha256').update(secret).digest()
  const revoked = await sql(
    'update login_tokens set revoked_at = now() where token_hash = $1 and revoked_at is null returning id',
    [digest],
  )
  return revoked.length === 1 ? 'accepted' : 'refused'
}

/**
 * Uses one token after another. Each is validated everywhere while it is revoked in one or two ways, and afterwards.
 */
async function liveAs(
  customer: Customer,
  { members }: Cluster,
  isFrozen: () => boolean,
  isOver: () => boolean,
): Promise<void> {
  // Awaited at the end only, since a paused process responds late.
  const validations: Promise<unknown>[] = []
  let next: Token | null = null
  while (!isOver()) {
    const token: Token | null = next ?? (await customer.login(anyAwake()))
    next = null
    if (token === null) continue
    let isRevoked = false
    for (const member of members) validations.push(validateUntil(member, token, () => isRevoked))
    await sleep(Math.random() * 20)
    const login = async () => {
      next = await customer.login(anyAwake())
    }
    const logout = () => customer.logout(anyAwake(), token)
    const update = () => customer.update(token)
    const soon = (act: () => Promise<unknown>) => async () => {
      await sleep(Math.random() * 100)
      await act()
    }
    const { end } = customer
    const endIt = () => end?.(anyAwake(), token) ?? login()
    const waysOfDevices = [
      [logout],
      [update],
      [endIt, logout],
      [endIt, soon(endIt), logout],
      [endIt, soon(logout)],
      [update, soon(endIt)],
      [update, logout],
    ]
    const waysOfCustomers = [
      [logout],
      [login],
      [update],
      [logout, logout],
      [logout, soon(logout)],
      [logout, login],
      [logout, soon(login)],
      [update, soon(login)],
      [update, logout],
    ]
    // While one instance receives nothing, the login finds the token revoked and the logout still waits.
    const beside = [() => customer.logout(anyOf(members.slice(1)), token), soon(endIt)]
    const ways = end === undefined ? waysOfCustomers : waysOfDevices
    const way = isFrozen() ? beside : anyOf<readonly (() => Promise<unknown>)[]>(ways)
    await Promise.all(way.map((revoke) => revoke()))
    for (const member of [...members, ...members]) validations.push(customer.validate(member, token))
    isRevoked = true
  }
  await Promise.all(validations)

  // The process may still be paused during the request.
  function anyAwake(): Member {
    return anyOf(members.filter((member) => !member.isPaused()))
  }

  async function validateUntil(member: Member, token: Token, isRevoked: () => boolean): Promise<void> {
    for (let refusals = 0; refusals < 3 && !isRevoked(); ) {
      const outcome = await customer.validate(member, token)
      if (outcome === 'refused') refusals += 1
      await sleep(outcome === 'unknown' ? 50 : Math.random() * 30)
    }
  }
}

type Faults = Readonly<Record<string, () => Promise<unknown>>>

/** The frozen listener connection comes first, while its instance certainly holds a lease. */
function faultsOf({ database, members: [, killed, paused] }: Cluster, link: TcpProxy): Faults {
  return {
    async 'frozen link'() {
      link.freeze()
      await sleep(FROZEN_MS)
      link.thaw()
    },
    async pause() {
      paused.pause()
      await sleep(100 + Math.random() * 1200)
      paused.resume()
    },
    'lost link': () => terminateOne(database, 'latchkey listener'),
    'lost heartbeat': () => terminateOne(database, 'latchkey heartbeat'),
    'lost connection': () => terminateOne(database, 'latchkey'),
    kill: () => killed.restart(),
  }
}

function terminateOne({ sql }: TestDatabase, name: string): Promise<unknown> {
  return sql(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity
        where application_name = $1 and datname = current_database() order by random() limit 1) as one`,
    [name],
  )
}

/** Injects all faults one by one early on, and then repeatedly, concurrently with the others. */
function startChaos(faults: Faults) {
  const seen: string[] = []
  const over = new AbortController()
  const all = Promise.all(
    Object.entries(faults).map(async ([name, fail], i) => {
      for (let restMs = 300 * i; ; restMs = 3000 + 5000 * Math.random()) {
        await sleep(restMs, null, over).catch(() => {})
        if (over.signal.aborted) return
        await fail()
        seen.push(name)
      }
    }),
  )
  return {
    seen: () => seen,
    isComplete: () => new Set(seen).size === Object.keys(faults).length,
    async end() {
      over.abort()
      await all
    },
  }
}

function kindOf({ does, outcome }: Operation): string {
  return `${does} ${outcome}`
}

function tally(kinds: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const kind of [...kinds].sort()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ')
}

function anyOf<T>(things: readonly T[]): T {
  return things[Math.floor(Math.random() * things.length)] as T
}
