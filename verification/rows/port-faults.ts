import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../src/domain/errors.ts'
import { withApp } from '../app.ts'
import {
  createFaultyPorts,
  type Fate,
  type FaultyPorts,
  isSameCall,
  type PortCall,
  type PortRun,
} from '../faulty-ports.ts'
import { ANNOUNCED, UNKNOWN_OUTCOME_IGNORED } from '../naive-forms.ts'
import {
  type Actor,
  createActor,
  type Kind,
  ownRoutes,
  REQUESTS,
  STORED,
  type Stage,
  stageOn,
  USE_CASES,
} from '../request-kinds.ts'
import type { Row, Trial } from '../row.ts'
import { REFUSED_MS, timed } from '../scene.ts'
import { inParallel } from '../wire.ts'

const EXCHANGE = 'src/application/login/exchange-credentials.ts'
const LOGOUT = 'src/application/use-cases/logout.ts'
const LATE_MS = 50
/** More than a request's deadline. */
const TOO_LATE_MS = 1100
const HANGS_MS = 10_000
const PARALLEL = 24
const TRIES = 20
const KINDS: Readonly<Record<string, Kind>> = { ...REQUESTS, ...USE_CASES }

/** A fault of a call, and the statuses that are safe then. `right` is the status without it. */
interface Fault {
  readonly name: string
  readonly fate: Fate
  befalls(call: PortCall): boolean
  safe(right: number, call: PortCall): readonly number[]
}

/** One call of a kind of request. */
interface Place {
  readonly name: string
  readonly kind: Kind
  readonly call: PortCall
}

interface Case {
  readonly place: Place
  readonly fault: Fault
}

/** The service and ports under test. */
interface Bench {
  readonly trial: Trial
  readonly ports: FaultyPorts
  readonly stage: Stage
}

const isAsync = (call: PortCall) => call.isAsync
/** Whether the call gets the rest of the request's deadline. */
const asksStore = ({ port }: PortCall) => ['customers', 'loginTokens', STORED].includes(port)
const afterBug = (right: number, call: PortCall) =>
  afterwards(right, call) ?? afterCaching(right, call) ?? [500]
const afterOutage = (right: number, call: PortCall) => afterwards(right, call) ?? [503]
/** A completed login stays so, whether or not its slot can be released. */
const afterwards = (right: number, { method }: PortCall) =>
  method === 'settle' && right === 200 ? [right] : null
/** The cache and its expiry need not decide the response. */
const afterCaching = (right: number, { port }: PortCall) =>
  port === 'cache' || port === 'clock' ? [right, 500] : null

const FAULTS: readonly Fault[] = [
  {
    name: 'throws',
    befalls: () => true,
    fate() {
      throw new Error('thrown by the row')
    },
    safe: afterBug,
  },
  {
    name: 'rejects',
    befalls: isAsync,
    async fate() {
      throw new Error('rejected by the row')
    },
    safe: afterBug,
  },
  {
    name: 'succeeds and rejects',
    befalls: isAsync,
    async fate(proceed) {
      await proceed()
      throw new Error('rejected by the row')
    },
    safe: afterBug,
  },
  {
    name: 'is unavailable',
    befalls: isAsync,
    async fate() {
      throw new Unavailable()
    },
    safe: afterOutage,
  },
  {
    name: 'succeeds and its response is lost',
    befalls: isAsync,
    async fate(proceed) {
      await proceed()
      throw new Unavailable()
    },
    safe: afterOutage,
  },
  {
    name: 'times out',
    befalls: asksStore,
    async fate(_, timeoutMs) {
      await sleep(Number(timeoutMs))
      throw new Unavailable()
    },
    safe: afterOutage,
  },
  { name: 'responds late', befalls: isAsync, fate: delayed(LATE_MS), safe: (right) => [right] },
  {
    name: 'responds too late',
    befalls: asksStore,
    fate: delayed(TOO_LATE_MS),
    safe: (right) => [right, 503],
  },
]

/** Every fault of every port call. */
export const portRows: readonly Row[] = [
  {
    id: 'J1',
    promise:
      'each call of each port throws, rejects, times out, is late or lost: a safe response, and the next one is right',
    sizes: { ci: 1, release: 5 },
    mutants: [
      {
        name: 'a verification that fails counts as right',
        file: 'src/application/login/verify-password.ts',
        find: 'await slot.verify(password, passwordHash)',
        replace: 'await slot.verify(password, passwordHash).catch(() => true)',
      },
      {
        name: 'a token that may not be stored is issued',
        file: EXCHANGE,
        find: 'loginTokens.replace(login, timeoutMs)',
        replace: 'loginTokens.replace(login, timeoutMs).catch(() => 0)',
      },
      {
        name: 'a logout that failed is acknowledged',
        file: LOGOUT,
        find: 'loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs)',
        replace: 'loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs).catch(() => true)',
      },
      UNKNOWN_OUTCOME_IGNORED,
      {
        name: 'acknowledged although the publication failed',
        file: ANNOUNCED,
        find: 'if (mayHaveRevoked(result)) await invalidations.publish(invalidation)',
        replace: 'if (mayHaveRevoked(result)) await invalidations.publish(invalidation).catch(() => {})',
      },
    ],
    async run(trial) {
      for (let round = 0; round < trial.size; round++) await everyFault(trial, round === 0)
    },
  },
]

/** Injects every fault at every call of every kind of request, on one service. */
async function everyFault(trial: Trial, isFirst: boolean): Promise<void> {
  const ports = createFaultyPorts()
  let unanswered: readonly Promise<void>[] = []
  const options = { hasBugs: true, routes: ownRoutes, env: { DRAIN_DEADLINE: '1s' } }
  await withApp(trial, options, async (app) => {
    const bench: Bench = { trial, ports, stage: stageOn(app, ports) }
    const places = await placesOf(bench, isFirst)
    const cases = casesAt(places)
    await inParallel(cases.length, PARALLEL, async () => {
      const next = cases.pop()
      if (next !== undefined) await tryFault(bench, next)
    })
    unanswered = await leaveUnanswered(bench, places)
  })
  await Promise.all(unanswered)
  ports.close()
}

/** Makes a request of each kind to record its calls without faults. */
async function placesOf({ trial, ports, stage }: Bench, isFirst: boolean): Promise<readonly Place[]> {
  const places: Place[] = []
  const counts: string[] = []
  for (const [name, kind] of Object.entries(KINDS)) {
    const calls: PortCall[] = []
    const { ask, right = 200 } = await kind(await createActor(stage))
    const status = await ports.during({ calls }, ask)
    trial.expect(status === right, () => `${name}: ${status}`)
    for (const call of calls) places.push({ name, kind, call })
    counts.push(`${name} ${calls.length}`)
  }
  if (isFirst) trial.note(`calls of ports: ${counts.join('; ')}`)
  return places
}

function casesAt(places: readonly Place[]): Case[] {
  return places.flatMap((place) =>
    FAULTS.filter((fault) => fault.befalls(place.call)).map((fault) => ({ place, fault })),
  )
}

async function tryFault(bench: Bench, tried: Case, tries = 1): Promise<void> {
  const { trial, ports, stage } = bench
  const { place, fault } = tried
  const { call, kind } = place
  const label = `${labelOf(place)} ${fault.name}`
  const actor = await createActor(stage)
  const { ask, right = 200, again = right, done = async () => true } = await kind(actor)

  const run: PortRun = { calls: [], struck: { call, fate: fault.fate } }
  const [status, ms] = await timed(waitForStatus(ports.during(run, ask)))
  // While another customer's tokens are revoked, pending lookups are not cached and some calls are not made.
  const isReached = run.calls.some((made) => isSameCall(made, call))
  if (!isReached && tries < TRIES) return tryFault(bench, tried, tries + 1)
  trial.require(isReached, () => `${label}: was not reached`)
  trial.require(!trial.judgesTimes || ms < REFUSED_MS, () => `${label}: responded after ${Math.round(ms)} ms`)
  // Without the triggers' notification here, an unpublished change or a stale cache entry stays. The next request
  // finds it.
  const mayStay = status !== right && (call.port === 'invalidations' || call.port === 'cache')
  const flaw =
    flawOf(status, fault.safe(right, call), await done()) ?? (mayStay ? null : await flawOfTokens(actor))
  trial.expect(flaw === null, () => `${label}: ${flaw}`)

  const nextRight = (await done()) ? again : right
  const next = await waitForStatus(ask())
  const nextFlaw = flawOf(next, [nextRight], await done()) ?? (await flawOfTokens(actor))
  trial.expect(nextFlaw === null, () => `after ${label}: ${nextFlaw}`)
}

/** Lets calls hang forever. Other requests are served meanwhile, and the drain ends them if nothing did before. */
async function leaveUnanswered(
  { trial, ports, stage }: Bench,
  places: readonly Place[],
): Promise<readonly Promise<void>[]> {
  const responses: Promise<void>[] = []
  for (const place of places) {
    const { name, kind, call } = place
    if (!call.isAsync || !(name in REQUESTS)) continue
    const label = `${labelOf(place)} hangs`
    const { ask } = await kind(await createActor(stage))
    const run: PortRun = { calls: [], struck: { call, fate: () => new Promise(() => {}) } }
    const response = ports.during(run, ask).catch(() => 0)
    responses.push(response.then((status) => trial.expect(status === 503, () => `${label}: ${status}`)))
    const other = await kind(await createActor(stage))
    const status = await waitForStatus(other.ask())
    trial.expect(status === (other.right ?? 200), () => `beside ${label}: ${status}`)
  }
  return responses
}

function labelOf({ name, call }: Place): string {
  return `${name}, call ${call.n} of ${call.port} (${call.method})`
}

/** Returns the status, or 0 when none comes in time. */
async function waitForStatus(ask: Promise<number>): Promise<number> {
  const over = new AbortController()
  try {
    return await Promise.race([ask, sleep(HANGS_MS, 0, { signal: over.signal })])
  } catch {
    return 0
  } finally {
    over.abort()
  }
}

function flawOf(status: number, safe: readonly number[], isDone: boolean): string | null {
  if (!safe.includes(status)) return `${status}, not ${safe.join(' or ')}`
  return status === 200 && !isDone ? 'acknowledged and not done' : null
}

/** Checks that the service accepts the same tokens as the database, and no replaced one. */
async function flawOfTokens({ tokens, isLive, call, liveLogins }: Actor): Promise<string | null> {
  for (const token of tokens) {
    const right = (await isLive(token)) ? 200 : 401
    const status = await call('/api/me', { token })()
    if (status !== right) return `one of the tokens is ${status}, not ${right}`
  }
  const logins = await liveLogins()
  return logins > 1 ? `${logins} live tokens of logins` : null
}

/** Makes the call and delays its result. */
function delayed(ms: number): Fate {
  return async (proceed) => {
    const response = await proceed()
    await sleep(ms)
    return response
  }
}
