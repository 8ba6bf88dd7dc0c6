import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { CachedToken } from '../../src/adapters/caching/login-tokens.ts'
import { memoryCustomers } from '../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../src/adapters/memory/login-tokens.ts'
import { type MemoryStore, memoryStore, revokeTokens } from '../../src/adapters/memory/store.ts'
import { randomIds } from '../../src/adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../../src/adapters/node-crypto/service-secrets.ts'
import type { Alarm } from '../../src/adapters/postgres/announcing/alarm.ts'
import {
  BEAT_MS,
  type Instance,
  type protocolInstance,
} from '../../src/adapters/postgres/announcing/instance.ts'
import { LEASE_MS } from '../../src/adapters/postgres/announcing/lease.ts'
import { makeAdministerCustomers } from '../../src/application/administer-customers.ts'
import { type Authenticate, makeAuthenticate } from '../../src/application/authenticate.ts'
import type { Patience } from '../../src/application/patience.ts'
import type { Clock, Invalidation, Invalidations, LoginTokens, Ports } from '../../src/application/ports.ts'
import { InvalidToken, Unavailable } from '../../src/domain/errors.ts'
import { authenticates, type Digest, type LoginToken } from '../../src/domain/login-token.ts'
import { aCustomer, aLoginToken } from './builders.ts'
import { fakePasswords, hashOf, mapCache, turn } from './fakes.ts'
import type { MakeCached } from './revocation-model.ts'

/** What the cluster is made of: the parts of the house, or some that a test has made wrong. */
export interface Parts {
  readonly cached: MakeCached
  readonly instance: typeof protocolInstance
  /** Heartbeats take the link, whose pooler returns them even when it loses every notification. */
  readonly beatsByLink: boolean
  /** A changed customer is announced by the digests of the tokens that the trigger sees. */
  readonly customersAsDigests: boolean
}

const CUSTOMERS = ['c0', 'c1', 'c2']
const MOST_INSTANCES = 5
const CACHE_TTL_MS = 60_000
/** Fewer than the triggers name, so that small changes reach it. */
const MOST_NAMED = 3
/** As in the adapter: a link that hears nothing for longer is made again. */
const DEAF_MS = 2 * LEASE_MS
const START_MS = 1_700_000_000_000
/** Timers are late by up to as much. */
const LATE_MS = 2
/** The slowest clock of the model, in milliseconds of its own for each true one. */
const SLOWEST = 0.99
const LONGEST_FAULT_MS = 2500
const PATIENCE: Patience = { wait: (call) => call(1000) }

const CLIENT_STEPS = ['validate', 'logout', 'login', 'disable'] as const
const WRITER_STEPS = ['revokes', 'disables', 'disables slowly', 'deletes', 'renames', 'revokes many'] as const
const FAULTS = [
  'pause',
  'pause',
  'set the clock',
  'freeze link',
  'freeze link',
  'lose link',
  'lose link',
  'slow link',
  'deafen link',
  'freeze speaker',
  'lose speaker',
  'kill',
  'leave',
  'join',
] as const

/** One thing that happens, `afterMs` after the one before. */
interface Step {
  readonly afterMs: number
  readonly does: (typeof CLIENT_STEPS)[number] | (typeof WRITER_STEPS)[number] | (typeof FAULTS)[number]
  /** Which instance, which token, and for how long: each step takes what it needs. */
  readonly on: number
  readonly pick: number
  readonly ms: number
}

/** What is so from the beginning of a run to its end. */
interface Setting {
  readonly instances: number
  /** How long the instances have been up before the first step. */
  readonly warmMs: number
  /** What else happens to clocks: a machine sleeps when it pauses, or the wall clock is set. Not both in one run. */
  readonly clocks: 'steady' | 'asleep' | 'set'
  /** All faults end after the last step, and the cluster has to come back to normal. */
  readonly heals: boolean
  /** Whatever is not said by the steps: delays, and which calls fail. */
  readonly chance: number
}

/** What happened in all the runs so far: a property that never saw anything happen says nothing. */
export interface ClusterTally {
  accepted: number
  refused: number
  unavailable: number
  /** Validations that asked no store: answered by the cache, or by a look-up that was under way. */
  hits: number
  /** Validations that began after their token's end was acknowledged. */
  afterAcknowledgement: number
  /** Of these the ones that an instance answered which held a lease, or had kept the token. */
  afterAcknowledgementWithLease: number
  /** Validations that began a second or more after their token's end. */
  secondLater: number
  acknowledged: number
  /** Acknowledgements that did not have to wait for a lease to end. */
  acknowledgedEarly: number
  healed: number
}

export function newClusterTally(): ClusterTally {
  return {
    accepted: 0,
    refused: 0,
    unavailable: 0,
    hits: 0,
    afterAcknowledgement: 0,
    afterAcknowledgementWithLease: 0,
    secondLater: 0,
    acknowledged: 0,
    acknowledgedEarly: 0,
    healed: 0,
  }
}

/**
 * Several instances over one store, in simulated time: their links freeze, lag and break, their heartbeats get lost,
 * they are paused, killed, started and stopped, and clocks run apart. A validation that begins after the
 * acknowledgement of a change that ended its token is never accepted on any instance, nor one that begins a second
 * after the change, whoever made it, nor on one instance after it refused; none is refused before its token ended.
 * Each acknowledgement takes a lease at most, and what was healed answers from its cache.
 */
export function clusterProperty(
  parts: Parts,
  tally: ClusterTally = newClusterTally(),
): fc.IAsyncPropertyWithHooks<[Setting, Step[]]> {
  const step: fc.Arbitrary<Step> = fc.record({
    afterMs: fc.constantFrom(0, 0, 1, 5, 20, 60, 150, 300, 700),
    does: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...CLIENT_STEPS) },
      { weight: 1, arbitrary: fc.constantFrom(...WRITER_STEPS) },
      { weight: 4, arbitrary: fc.constantFrom(...FAULTS) },
    ),
    on: fc.nat(MOST_INSTANCES),
    pick: fc.nat(30),
    ms: fc.constantFrom(5, 50, 200, 500, 900, 1050, 1300, LONGEST_FAULT_MS),
  })
  const setting: fc.Arbitrary<Setting> = fc.record({
    instances: fc.integer({ min: 2, max: 4 }),
    warmMs: fc.constantFrom(0, 300, 1300, 1300),
    clocks: fc.constantFrom('steady', 'asleep', 'set'),
    heals: fc.constantFrom(true, false, false, false),
    chance: fc.nat(),
  })
  return fc.asyncProperty(
    setting,
    fc.array(step, { minLength: 8, maxLength: 30, size: 'max' }),
    (chosen, steps) => play(parts, chosen, steps, tally),
  )
}

/** Something that happens at a moment of the simulated time; where there is one, its process has to be awake. */
interface Event {
  readonly atMs: number
  readonly order: number
  readonly process: Process | null
  readonly isTimer: boolean
  readonly act: () => void
}

/** Simulated time: events happen in the order of their moments, each when all that the one before began has settled. */
function timeline() {
  /** The next one last. */
  const events: Event[] = []
  let orders = 0
  const time = {
    nowMs: 0,
    /** Set by an event that may let somebody go on who waits for a promise. */
    wakes: false,

    at(atMs: number, act: () => void, process: Process | null = null, isTimer = false): void {
      orders += 1
      insert({ atMs: Math.max(atMs, time.nowMs), order: orders, process, isTimer, act })
    },

    after(ms: number, act: () => void, process: Process | null = null, isTimer = false): void {
      time.at(time.nowMs + ms, act, process, isTimer)
    },

    async runUntil(endMs: number, check: () => void): Promise<void> {
      for (let event = events.at(-1); event !== undefined && event.atMs <= endMs; event = events.at(-1)) {
        events.pop()
        time.nowMs = event.atMs
        const { process } = event
        if (process !== null && time.nowMs < process.wakesMs) insert(afterWaking(event, process))
        else if (process === null || process.isAlive) {
          event.act()
          // Most events wake nobody who waits.
          if (!time.wakes) continue
          time.wakes = false
          await turn()
          check()
        }
      }
      time.nowMs = endMs
    },
  }
  return time

  function insert(event: Event): void {
    let from = 0
    let to = events.length
    while (from < to) {
      const middle = (from + to) >> 1
      const other = events[middle]
      if (other && (other.atMs - event.atMs || other.order - event.order) > 0) from = middle + 1
      else to = middle
    }
    events.splice(from, 0, event)
  }
}

/** A process that wakes up meets its timers first, or what came in for it meanwhile. */
function afterWaking(event: Event, { wakesMs, timersFirst }: Process): Event {
  const shift = event.isTimer ? (timersFirst ? -1e9 : 1e9) : 0
  return { ...event, atMs: wakesMs, order: event.order + shift }
}

/** One instance's process, with the machine that it runs on. */
interface Process {
  readonly name: string
  readonly clock: Clock
  readonly rate: number
  readonly authenticate: Authenticate
  readonly tokens: LoginTokens
  readonly disable: (customerId: string) => Promise<unknown>
  readonly instance: Instance
  isAlive: boolean
  /** It said goodbye and gets no more requests. */
  hasLeft: boolean
  wakesMs: number
  timersFirst: boolean
  /** How long the monotonic clock stood still, and how far the wall clock was set. */
  sleptMs: number
  setMs: number
  link: Link
  linkDelayMs: number
  heardMs: number
  /** Changes that wait for their acknowledgement. */
  announcing: number
  speaker: Stream
  hasAsked: boolean
}

/** What one connection carries in one direction. */
interface Stream {
  isOpen: boolean
  thawsMs: number
  /** When the last that is under way arrives. */
  lastMs: number
  readonly waiting: string[]
}

function openStream(): Stream {
  return { isOpen: true, thawsMs: 0, lastMs: 0, waiting: [] }
}

/** What a connection hears that listens. */
interface Link extends Stream {
  /** Lost, but what it had received is still handed on. */
  lingers: boolean
  isDeaf: boolean
}

/** A token, with the steps and moments that matter. */
interface Known {
  readonly digest: Digest
  readonly token: LoginToken
  endedMs: number
  acknowledgedAt: number
  readonly refusedAt: Map<string, number>
}

async function play(
  parts: Parts,
  setting: Setting,
  steps: readonly Step[],
  tally: ClusterTally,
): Promise<void> {
  const random = generator(setting.chance)
  const time = timeline()
  const store = memoryStore()
  const storedTokens = memoryLoginTokens(store)
  const storedCustomers = memoryCustomers(store)
  const known: Known[] = []
  const processes: Process[] = []
  const listening = new Set<{ readonly process: Process; readonly link: Link }>()
  let count = 0
  let started = 0
  let issued = 0
  /** No call fails or is late any more. */
  let isCalm = false
  let failure: unknown = null
  const tick = () => ++count

  for (const id of CUSTOMERS) {
    await storedCustomers.add({ customer: aCustomer({ id, email: id }), passwordHash: hashOf('right') }, 1000)
    await addToken(id, 'login')
    await addToken(id, 'bot')
  }
  for (let n = 0; n < setting.instances; n += 1) start()
  await run(setting.warmMs)
  for (const step of steps) {
    await run(step.afterMs)
    perform(step)
  }
  await run(LEASE_MS)
  // Whatever was stored too late is still there.
  validateEverywhere(known.slice(-8))
  await run(0)
  if (setting.heals) await heal()

  async function run(forMs: number): Promise<void> {
    await time.runUntil(time.nowMs + forMs, () => {
      if (failure !== null) throw failure
    })
    await turn()
    if (failure !== null) throw failure
  }

  function perform({ does, on, pick, ms }: Step): void {
    const process = alive()[on % alive().length]
    const token = known[pick % 3 === 0 ? pick % known.length : known.length - 1 - (pick % 4)]
    if (process === undefined || token === undefined) return
    const { customerId } = token.token
    switch (does) {
      case 'validate':
        validateEverywhere([token])
        break
      case 'logout':
        validateEverywhere([token])
        watch(logOut(process, token))
        break
      case 'login':
        validateEverywhere(known.filter(isLoginOf(customerId)))
        watch(logIn(process, customerId))
        break
      case 'disable':
        validateEverywhere([token])
        watch(disable(process, customerId))
        break
      case 'revokes':
        byAnother(() => revokeAll([token]))
        break
      case 'revokes many':
        byAnother(() => revokeAll(known))
        break
      case 'disables':
        byAnother(() => changeCustomer(customerId, { disabledAtMs: START_MS + time.nowMs }))
        break
      case 'disables slowly':
        disableSlowly(customerId)
        break
      case 'deletes':
        byAnother(() => storedCustomers.delete(customerId, 1000))
        break
      case 'renames':
        byAnother(() => changeCustomer(customerId, { name: `name at ${time.nowMs}` }))
        break
      default:
        breakSomething(does, process, ms)
        break
    }
  }

  function breakSomething(fault: (typeof FAULTS)[number], process: Process, ms: number): void {
    const { link, speaker } = process
    const untilMs = time.nowMs + ms
    switch (fault) {
      case 'pause': {
        const longerMs = Math.max(0, untilMs - Math.max(time.nowMs, process.wakesMs))
        process.wakesMs = Math.max(process.wakesMs, untilMs)
        process.timersFirst = random() < 0.5
        if (setting.clocks === 'asleep') process.sleptMs += longerMs
        break
      }
      case 'set the clock':
        if (setting.clocks === 'set') process.setMs += random() < 0.5 ? ms : -ms
        break
      case 'freeze link':
        link.thawsMs = Math.max(link.thawsMs, untilMs)
        break
      case 'lose link':
        lose(process, link, ms)
        break
      case 'slow link':
        process.linkDelayMs = process.linkDelayMs === 0 ? ms : 0
        break
      case 'deafen link':
        link.isDeaf = true
        break
      case 'freeze speaker':
        speaker.thawsMs = Math.max(speaker.thawsMs, untilMs)
        break
      case 'lose speaker':
        speaker.isOpen = false
        time.after(ms, () => speakAgain(process), process)
        break
      case 'kill':
        kill(process)
        time.after(ms, start)
        break
      case 'leave':
        if (alive().length === 1) break
        process.hasLeft = true
        time.after(0, () => leave(process), process)
        break
      case 'join':
        if (alive().length < MOST_INSTANCES) start()
        break
    }
  }

  // The processes.

  function alive(): Process[] {
    return processes.filter(({ isAlive, hasLeft }) => isAlive && !hasLeft)
  }

  function start(): void {
    started += 1
    const name = `i${started}`
    const rate = SLOWEST + random() * (2 - 2 * SLOWEST)
    const offsetMs = random() * 200 - 100
    const bornMs = time.nowMs
    const subscribers: ((invalidation: Invalidation) => void)[] = []
    const obey = (invalidation: Invalidation) => {
      for (const subscriber of subscribers) subscriber(invalidation)
    }
    const clock: Clock = {
      nowMs: () => START_MS + offsetMs + time.nowMs * rate + process.setMs,
      monotonicMs: () => 5 + (time.nowMs - bornMs - process.sleptMs) * rate,
    }
    const alarm: Alarm = (atMonotonicMs, act) => {
      let isOff = false
      const leftMs = () => (atMonotonicMs - clock.monotonicMs()) / rate
      wait()
      return () => {
        isOff = true
      }

      function wait(): void {
        time.after(leftMs() + random() * LATE_MS, wake, process, true)
      }

      function wake(): void {
        if (isOff) return
        if (leftMs() > 0) wait()
        else {
          time.wakes = true
          act()
        }
      }
    }
    const instance = parts.instance({
      name,
      clock,
      alarm,
      send: (payload) => say(process, payload),
      obey,
      warn: (payload) => assert.fail(`not understood: ${payload}`),
    })
    const invalidations: Invalidations = {
      subscribe: (subscriber) => subscribers.push(subscriber),
      isCurrent: instance.holdsLease,
      async announce(invalidation) {
        const beganMs = time.nowMs
        obey(invalidation)
        process.announcing += 1
        await instance.settled()
        process.announcing -= 1
        acknowledged(process, beganMs)
      },
    }
    const inner: LoginTokens = {
      ...storedTokens,
      findByDigest(digest, waitMs) {
        process.hasAsked = true
        return call(process, () => storedTokens.findByDigest(digest, waitMs))
      },
      replace: (login, waitMs) =>
        call(process, () => {
          const answer = change(() => storedTokens.replace(login, waitMs))
          if (store.tokens.has(login.digest)) know(login.token, login.digest)
          return answer
        }),
      revoke: (token, atMs, waitMs) =>
        call(process, () => change(() => storedTokens.revoke(token, atMs, waitMs))),
    }
    const customers = {
      ...storedCustomers,
      disable: (id: string, atMs: number, waitMs: number) =>
        call(process, () => change(() => storedCustomers.disable(id, atMs, waitMs))),
    }
    const tokens = parts.cached(inner, mapCache<CachedToken>(clock), invalidations, clock, {
      ttlMs: CACHE_TTL_MS,
    })
    const ports: Ports = {
      customers,
      loginTokens: tokens,
      invalidations,
      passwords: fakePasswords(),
      secrets: { issue: () => assert.fail(), digestOf: (presented) => presented },
      serviceSecrets: serviceSecrets([]),
      clock,
      ids: randomIds,
    }
    const process: Process = {
      name,
      clock,
      rate,
      authenticate: makeAuthenticate(ports),
      tokens,
      disable: (id) => makeAdministerCustomers(ports).disable(id, PATIENCE),
      instance,
      isAlive: true,
      hasLeft: false,
      wakesMs: 0,
      timersFirst: true,
      sleptMs: 0,
      setMs: 0,
      link: { ...openStream(), isOpen: false, lingers: false, isDeaf: false },
      linkDelayMs: 0,
      heardMs: Infinity,
      announcing: 0,
      speaker: openStream(),
      hasAsked: false,
    }
    processes.push(process)
    time.after(random() * 5, () => connect(process), process)
    time.after(random() * BEAT_MS, () => beat(process), process, true)
  }

  function leave(process: Process): void {
    process.instance.leave()
    time.after(50, () => kill(process), process)
  }

  function kill(process: Process): void {
    process.isAlive = false
    process.link.isOpen = false
    for (const listener of listening) if (listener.process === process) listening.delete(listener)
  }

  function beat(process: Process): void {
    process.instance.beat()
    if (process.clock.monotonicMs() - process.heardMs > DEAF_MS) lose(process, process.link, 50)
    time.after(BEAT_MS / process.rate, () => beat(process), process, true)
  }

  // The links, and what is said.

  function connect(process: Process): void {
    const link: Link = { ...openStream(), lingers: false, isDeaf: false }
    process.link = link
    listening.add({ process, link })
    time.after(
      // Now and then the answer to LISTEN is late.
      random() < 0.3 ? random() * 300 : shortly(),
      () => {
        if (!link.isOpen) return
        process.heardMs = process.clock.monotonicMs()
        process.instance.linked()
      },
      process,
    )
  }

  function lose(process: Process, link: Link, ms: number): void {
    if (!link.isOpen) return
    link.isOpen = false
    link.lingers = random() < 0.3
    time.after(
      0,
      () => {
        process.heardMs = Infinity
        process.instance.unlinked()
        time.after(ms, () => connect(process), process)
      },
      process,
    )
  }

  /** Commits what is said: whoever listens gets it, in this order. */
  function notify(payload: string): void {
    for (const listener of listening) {
      const { process, link } = listener
      if (!link.isOpen && !link.lingers) listening.delete(listener)
      else if (!link.isDeaf) deliver(process, link, payload)
    }
  }

  function deliver(process: Process, link: Link, payload: string): void {
    transmit(link, payload, shortly() + process.linkDelayMs, process, (arrived) => {
      if (!link.isOpen && !link.lingers) return
      process.heardMs = process.clock.monotonicMs()
      if (process.announcing > 0) time.wakes = true
      process.instance.heard(arrived)
    })
  }

  function say(process: Process, payload: string): void {
    const { speaker, link } = process
    if (parts.beatsByLink && payload.includes('beat')) {
      if (!link.isOpen) return
      if (link.isDeaf) deliver(process, link, payload)
      time.after(shortly(), () => notify(payload))
    } else if (speaker.isOpen) {
      transmit(speaker, payload, shortly(), null, (arrived) => {
        // Of what a lost connection was sent some arrives all the same, maybe after what the next one says.
        if (speaker.isOpen || random() < 0.5) notify(arrived)
      })
    }
  }

  /** What one connection is given arrives in this order, however often it freezes. */
  function transmit(
    stream: Stream,
    payload: string,
    delayMs: number,
    to: Process | null,
    receive: (payload: string) => void,
  ): void {
    stream.lastMs = Math.max(stream.lastMs, stream.thawsMs, time.nowMs + delayMs)
    stream.waiting.push(payload)
    time.at(stream.lastMs, arrive, to)

    function arrive(): void {
      if (time.nowMs < stream.thawsMs) {
        time.at(stream.thawsMs, arrive, to)
        return
      }
      const oldest = stream.waiting.shift()
      if (oldest !== undefined) receive(oldest)
    }
  }

  function speakAgain(process: Process): void {
    if (process.speaker.isOpen) return
    process.speaker = openStream()
    process.instance.beat()
  }

  // The database.

  /** A call travels, takes effect in one step, and its answer travels back; some fail, some lose their answer. */
  function call<T>(process: Process, effect: () => Promise<T>): Promise<T> {
    const course = isCalm ? 1 : random()
    return new Promise((resolve, reject) => {
      time.after(travelling(), () => {
        const result = course < 0.02 ? Promise.reject(new Unavailable()) : effect()
        result.catch(() => {})
        answer(() => (course < 0.06 ? reject(new Unavailable()) : resolve(result)))
      })

      function answer(by: () => void): void {
        time.after(
          travelling(),
          () => {
            time.wakes = true
            by()
          },
          process,
        )
      }
    })
  }

  /** Makes a change, and announces what the triggers would. */
  function change<T>(make: () => Promise<T>, seen: MemoryStore = snapshot()): Promise<T> {
    const before = snapshot()
    // In the memory a change is made before the call returns.
    const answer = make()
    for (const payload of announced(before, store, seen, parts.customersAsDigests)) notify(payload)
    for (const token of known) {
      if (!isGood(token)) token.endedMs = Math.min(token.endedMs, time.nowMs)
    }
    return answer
  }

  function snapshot(): MemoryStore {
    return { customers: new Map(store.customers), tokens: new Map(store.tokens) }
  }

  function isGood({ digest }: Known): boolean {
    const token = store.tokens.get(digest)
    const owner = token && store.customers.get(token.customerId)
    return token && owner ? authenticates({ token, customer: owner.customer }, -Infinity) : false
  }

  function byAnother(make: () => Promise<unknown>): void {
    validateEverywhere(known.slice(-2))
    time.after(travelling(), () => {
      void change(make)
      validateASecondLater()
    })
  }

  /** A transaction whose trigger has run before another adds a token to the customer, and that commits after it. */
  function disableSlowly(customerId: string): void {
    time.after(shortly(), () => {
      const seen = snapshot()
      const afterMs = 5 + travelling()
      time.after(shortly(), () => {
        if (store.customers.get(customerId)?.customer.disabledAtMs !== null) return
        void addToken(customerId, 'bot').then(() => validateEverywhere(known.slice(-1)))
      })
      time.after(afterMs, () => {
        void change(() => changeCustomer(customerId, { disabledAtMs: START_MS + time.nowMs }), seen)
        validateASecondLater()
      })
    })
  }

  async function revokeAll(tokens: readonly Known[]): Promise<void> {
    revokeTokens(store, ({ id }) => tokens.some(({ token }) => token.id === id), START_MS + time.nowMs)
  }

  async function changeCustomer(
    id: string,
    difference: { disabledAtMs?: number; name?: string },
  ): Promise<void> {
    const found = store.customers.get(id)
    if (found)
      store.customers.set(id, { ...found, customer: Object.freeze({ ...found.customer, ...difference }) })
  }

  async function addToken(customerId: string, name: string): Promise<void> {
    const { token, digest } = newToken(customerId, name, START_MS + time.nowMs)
    know(token, digest)
    time.wakes = true
    await storedTokens.add(token, digest, 1000)
  }

  function newToken(
    customerId: string,
    name: string,
    createdAtMs: number,
  ): { token: LoginToken; digest: Digest } {
    issued += 1
    // Where the wall clock is set nobody can say when a token expires.
    const lasts = !isCalm && setting.clocks !== 'set' && random() < 0.4
    const expiresAtMs = lasts ? createdAtMs + 200 + random() * 3000 : null
    const token = aLoginToken({ id: `t${issued}`, customerId, name, createdAtMs, expiresAtMs })
    return { token, digest: `d${issued}` }
  }

  function know(token: LoginToken, digest: Digest): void {
    known.push({ digest, token, endedMs: Infinity, acknowledgedAt: Infinity, refusedAt: new Map() })
  }

  // The clients.

  function watch(doing: Promise<unknown>): void {
    time.wakes = true
    doing.catch((error: unknown) => {
      if (!(error instanceof Unavailable)) failure ??= error
    })
  }

  function validateEverywhere(tokens: readonly Known[]): void {
    for (const process of alive()) {
      for (const token of tokens) time.after(0, () => watch(validate(process, token)), process)
    }
  }

  function validateASecondLater(): void {
    const ended = known.filter(({ endedMs }) => endedMs === time.nowMs)
    // The newest are the ones that were in use.
    time.after(LEASE_MS, () => validateEverywhere(ended.slice(-2)))
  }

  async function logOut(process: Process, token: Known): Promise<void> {
    await process.tokens.revoke({ id: token.token.id, digest: token.digest }, process.clock.nowMs(), 1000)
    // "No longer active" may also say that it has expired.
    acknowledge([token])
  }

  async function logIn(process: Process, customerId: string): Promise<void> {
    await reopen(customerId)
    const earlier = known.filter(isLoginOf(customerId))
    const login = newToken(customerId, 'login', process.clock.nowMs())
    const revoked = await process.tokens.replace({ ...login, verifiedHash: hashOf('right') }, 1000)
    if (revoked !== null && revoked > 0) acknowledge(earlier)
  }

  /** Another writer lets a customer log in again, and leaves none of the tokens from before. */
  async function reopen(id: string): Promise<void> {
    if (store.customers.get(id)?.customer.disabledAtMs === null) return
    const stored = { customer: aCustomer({ id, email: id }), passwordHash: hashOf('right') }
    await change(() => storedCustomers.delete(id, 1000))
    await change(() => storedCustomers.add(stored, 1000))
  }

  async function disable(process: Process, customerId: string): Promise<void> {
    const concerned = known.filter(({ token }) => token.customerId === customerId)
    if ((await process.disable(customerId)) !== null) acknowledge(concerned)
  }

  function isLoginOf(customerId: string): (token: Known) => boolean {
    return ({ token }) => token.customerId === customerId && token.name === 'login'
  }

  function acknowledge(tokens: readonly Known[]): void {
    const at = tick()
    const ended = tokens.filter(({ endedMs }) => endedMs <= time.nowMs)
    for (const token of ended) token.acknowledgedAt = Math.min(token.acknowledgedAt, at)
    for (const process of alive()) {
      for (const token of ended) time.after(0, () => watch(validate(process, token)), process)
    }
    time.after(300, () => validateEverywhere(ended))
  }

  function acknowledged(process: Process, beganMs: number): void {
    const tookMs = time.nowMs - beganMs
    tally.acknowledged += 1
    if (tookMs < LEASE_MS / 2) tally.acknowledgedEarly += 1
    if (process.wakesMs > beganMs) return
    assert.ok(tookMs <= LEASE_MS / process.rate + LATE_MS + 1, 'acknowledged later than a lease')
  }

  async function validate(process: Process, token: Known): Promise<boolean> {
    const beganAt = tick()
    const isAcknowledged = token.acknowledgedAt < beganAt
    const isOld = token.endedMs + LEASE_MS <= time.nowMs
    const hasExpired = (token.token.expiresAtMs ?? Infinity) <= process.clock.nowMs()
    if (isAcknowledged) tally.afterAcknowledgement += 1
    if (isAcknowledged && process.instance.holdsLease()) tally.afterAcknowledgementWithLease += 1
    if (isOld) tally.secondLater += 1
    process.hasAsked = false
    const validating = process.authenticate(token.digest, PATIENCE)
    // A look-up is sent before anything else can run.
    const isHit = !process.hasAsked
    try {
      await validating
      tally.accepted += 1
      if (isHit) tally.hits += 1
      assert.ok(!isAcknowledged, 'accepted after the acknowledgement')
      assert.ok(!isOld, 'accepted a second after the change')
      assert.ok(!hasExpired, 'accepted after its expiry')
      assert.ok((token.refusedAt.get(process.name) ?? Infinity) >= beganAt, 'accepted after it was refused')
    } catch (error) {
      if (error instanceof Unavailable) tally.unavailable += 1
      if (!(error instanceof InvalidToken)) throw error
      tally.refused += 1
      const mayHaveEnded = token.endedMs <= time.nowMs
      const mayHaveExpired = (token.token.expiresAtMs ?? Infinity) <= process.clock.nowMs()
      assert.ok(mayHaveEnded || mayHaveExpired, 'refused without a reason')
      if (!token.refusedAt.has(process.name)) token.refusedAt.set(process.name, tick())
    }
    return isHit
  }

  function shortly(): number {
    return 0.1 + random() * 2
  }

  /** Mostly short, sometimes long, now and then very long. */
  function travelling(): number {
    const course = isCalm ? 0 : random()
    return course < 0.7 ? shortly() : random() * (course < 0.85 ? 50 : course < 0.94 ? 500 : 2000)
  }

  /** All faults end; after a while each instance keeps what it reads, and acknowledgements are quick again. */
  async function heal(): Promise<void> {
    isCalm = true
    for (const process of alive()) process.linkDelayMs = 0
    await run(2 * LONGEST_FAULT_MS + LEASE_MS)
    await reopen('c0')
    await addToken('c0', 'login')
    await run(20)
    const token = known.at(-1) ?? assert.fail()
    const hitsBefore = tally.hits
    for (let round = 0; round < 2; round += 1) {
      validateEverywhere([token])
      await run(20)
    }
    assert.equal(tally.hits - hitsBefore, alive().length, 'healed, but keeps nothing')
    const earlyBefore = tally.acknowledgedEarly
    for (const process of alive().slice(0, 1)) watch(logOut(process, token))
    await run(20)
    assert.equal(tally.acknowledgedEarly - earlyBefore, 1, 'healed, but acknowledges late')
    await run(LEASE_MS)
    tally.healed += 1
  }
}

/** The payloads that the triggers would announce of a change; one of them may have run before the commit. */
function announced(
  was: MemoryStore,
  became: MemoryStore,
  seen: MemoryStore,
  customersAsDigests: boolean,
): string[] {
  const customers = [...was.customers.values()]
    .map(({ customer }) => customer)
    .filter(({ id, disabledAtMs, email, name }) => {
      const now = became.customers.get(id)?.customer
      return now?.disabledAtMs !== disabledAtMs || now.email !== email || now.name !== name
    })
    .map(({ id }) => id)
  const digests = [...was.tokens]
    .filter(([digest, token]) => token.revokedAtMs === null && became.tokens.get(digest) !== token)
    .map(([digest]) => digest)
  const theirs = [...seen.tokens].filter(([, token]) => customers.includes(token.customerId))
  return [
    ...(customersAsDigests
      ? sentence(
          'digests',
          theirs.map(([digest]) => digest),
        )
      : sentence('customers', customers)),
    ...sentence('digests', digests),
  ]
}

function sentence(kind: string, changed: readonly string[]): string[] {
  if (changed.length === 0) return []
  return changed.length > MOST_NAMED ? ['1 forget'] : [`1 ${kind} ${changed.join(' ')}`]
}

/** Numbers from 0 up to 1 that a seed repeats (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
