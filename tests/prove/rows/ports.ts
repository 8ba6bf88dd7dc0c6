import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../../src/domain/errors.ts'
import { withApp } from '../app.ts'
import {
  type Fate,
  type FaultyPorts,
  faultyPorts,
  isSame,
  type PortCall,
  type PortRun,
} from '../faulty-ports.ts'
import { ANNOUNCED, UNKNOWN_OUTCOME_IGNORED } from '../naive-forms.ts'
import {
  type Kind,
  ownRoutes,
  REQUESTS,
  type Somebody,
  STORED,
  type Stage,
  somebodyOn,
  stageOn,
  USE_CASES,
} from '../request-kinds.ts'
import type { Row, Trial } from '../row.ts'
import { REFUSED_MS, timed } from '../scene.ts'
import { inParallel } from '../wire.ts'

const LOGIN = 'src/application/use-cases/login.ts'
const LOGOUT = 'src/application/use-cases/logout.ts'
const LATE_MS = 50
/** More than a request's patience. */
const TOO_LATE_MS = 1100
const HANGS_MS = 10_000
const PARALLEL = 24
const TRIES = 20
const KINDS: Readonly<Record<string, Kind>> = { ...REQUESTS, ...USE_CASES }

/** What may become of a call, and the answers that are safe then, where `right` would have been the answer. */
interface Fault {
  readonly name: string
  readonly fate: Fate
  befalls(call: PortCall): boolean
  safe(right: number, call: PortCall): readonly number[]
}

/** One call that a kind of request makes. */
interface Place {
  readonly name: string
  readonly kind: Kind
  readonly call: PortCall
}

interface Case {
  readonly place: Place
  readonly fault: Fault
}

/** What everything is tried on. */
interface Bench {
  readonly trial: Trial
  readonly ports: FaultyPorts
  readonly stage: Stage
}

const isAsync = (call: PortCall) => call.isAsync
/** Whether it is given what is left of the request's patience. */
const asksStore = ({ port }: PortCall) => ['customers', 'loginTokens', STORED].includes(port)
const afterBug = (right: number, call: PortCall) =>
  afterwards(right, call) ?? afterKeeping(right, call) ?? [500]
const afterOutage = (right: number, call: PortCall) => afterwards(right, call) ?? [503]
/** A login that is done stays so, whether or not its place can be given back. */
const afterwards = (right: number, { method }: PortCall) =>
  method === 'settle' && right === 200 ? [right] : null
/** What is kept, and for how long, need not decide the answer. */
const afterKeeping = (right: number, { port }: PortCall) =>
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
    name: 'is done and rejects',
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
    name: 'is done and its answer lost',
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
  { name: 'answers late', befalls: isAsync, fate: held(LATE_MS), safe: (right) => [right] },
  { name: 'answers too late', befalls: asksStore, fate: held(TOO_LATE_MS), safe: (right) => [right, 503] },
]

/** Whatever becomes of a call of a port. */
export const portRows: readonly Row[] = [
  {
    id: 'J1',
    promise:
      'each call of each port throws, rejects, times out, is late or lost: a safe answer, the next is right',
    sizes: { ci: 1, release: 5 },
    mutants: [
      {
        name: 'a verification that fails counts as right',
        file: LOGIN,
        find: 'await hashing.verify(password, verifiedHash)',
        replace: 'await hashing.verify(password, verifiedHash).catch(() => true)',
      },
      {
        name: 'a token that may not be stored is handed out',
        file: LOGIN,
        find: 'loginTokens.replace({ token, digest, verifiedHash }, timeoutMs)',
        replace: 'loginTokens.replace({ token, digest, verifiedHash }, timeoutMs).catch(() => 0)',
      },
      {
        name: 'a logout that failed is acknowledged',
        file: LOGOUT,
        find: 'loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs)',
        replace: 'loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs).catch(() => true)',
      },
      UNKNOWN_OUTCOME_IGNORED,
      {
        name: 'acknowledged although nobody could be told',
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

/** Every fault at every call of every kind of request, on one service. */
async function everyFault(trial: Trial, isFirst: boolean): Promise<void> {
  const ports = faultyPorts()
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

/** Makes a request of each kind to see what it calls where nothing fails. */
async function placesOf({ trial, ports, stage }: Bench, isFirst: boolean): Promise<readonly Place[]> {
  const places: Place[] = []
  const counts: string[] = []
  for (const [name, kind] of Object.entries(KINDS)) {
    const calls: PortCall[] = []
    const { ask, right = 200 } = await kind(await somebodyOn(stage))
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
  const somebody = await somebodyOn(stage)
  const { ask, right = 200, again = right, done = async () => true } = await kind(somebody)

  const run: PortRun = { calls: [], struck: { call, fate: fault.fate } }
  const [status, ms] = await timed(answerOf(ports.during(run, ask)))
  // While another's tokens are revoked nothing that is being read is kept, and some calls are not made.
  const isReached = run.calls.some((made) => isSame(made, call))
  if (!isReached && tries < TRIES) return tryFault(bench, tried, tries + 1)
  trial.require(isReached, () => `${label}: was not reached`)
  trial.require(!trial.judgesTimes || ms < REFUSED_MS, () => `${label}: answered after ${Math.round(ms)} ms`)
  // What is not told or not forgotten stays until the notice of the triggers, which is not here; the next finds it.
  const mayStay = status !== right && (call.port === 'invalidations' || call.port === 'cache')
  const flaw =
    flawOf(status, fault.safe(right, call), await done()) ?? (mayStay ? null : await flawOfTokens(somebody))
  trial.expect(flaw === null, () => `${label}: ${flaw}`)

  const nextRight = (await done()) ? again : right
  const next = await answerOf(ask())
  const nextFlaw = flawOf(next, [nextRight], await done()) ?? (await flawOfTokens(somebody))
  trial.expect(nextFlaw === null, () => `after ${label}: ${nextFlaw}`)
}

/** Leaves calls unanswered for ever: others are served meanwhile, and the drain ends it where nothing did before. */
async function leaveUnanswered(
  { trial, ports, stage }: Bench,
  places: readonly Place[],
): Promise<readonly Promise<void>[]> {
  const answers: Promise<void>[] = []
  for (const place of places) {
    const { name, kind, call } = place
    if (!call.isAsync || !(name in REQUESTS)) continue
    const label = `${labelOf(place)} is not answered`
    const { ask } = await kind(await somebodyOn(stage))
    const run: PortRun = { calls: [], struck: { call, fate: () => new Promise(() => {}) } }
    const answer = ports.during(run, ask).catch(() => 0)
    answers.push(answer.then((status) => trial.expect(status === 503, () => `${label}: ${status}`)))
    const other = await kind(await somebodyOn(stage))
    const status = await answerOf(other.ask())
    trial.expect(status === (other.right ?? 200), () => `beside ${label}: ${status}`)
  }
  return answers
}

function labelOf({ name, call }: Place): string {
  return `${name}, call ${call.n} of ${call.port} (${call.method})`
}

/** The status, or 0 where none comes. */
async function answerOf(ask: Promise<number>): Promise<number> {
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

/** Whether the service accepts what the database does, and no token that was replaced. */
async function flawOfTokens({ tokens, isLive, call, liveLogins }: Somebody): Promise<string | null> {
  for (const token of tokens) {
    const right = (await isLive(token)) ? 200 : 401
    const status = await call('/api/me', { token })()
    if (status !== right) return `one of the tokens is ${status}, not ${right}`
  }
  const logins = await liveLogins()
  return logins > 1 ? `${logins} live tokens of logins` : null
}

/** Makes the call, and holds its answer back. */
function held(ms: number): Fate {
  return async (proceed) => {
    const answer = await proceed()
    await sleep(ms)
    return answer
  }
}
