import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { openTcpProxy, type TcpProxy } from '../../tests/support/tcp-proxy.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import { type Mutant, type Row, Skipped, type Trial } from '../row.ts'
import { shownTimes } from '../scene.ts'
import { startVerifierProcess, type VerifierProcess } from '../verifier-process.ts'

/** More would make verifiers late on a small machine, so that they get no lease. */
const CUSTOMERS = 6
/** The number of logouts before the first fault: new processes are slow, and a fault without hits proves nothing. */
const CALM = 12
/** The longest fault, which is longer than a lease. */
const MAX_FAULT_MS = 1500
/** A logout ends a second after its commit at the latest; the rest is for the request and the commit. */
const MAX_LOGOUT_MS = 1100
const MAX_RECOVERY_MS = 2000
/** A new process has to start first. */
const START_MS = 1000
const MAX_WAIT_MS = 30_000
const KINDS = 7
/** How often each kind of fault happens at least. */
const MIN_EACH = 2
/** Verifications that one verifier has in progress for a token, before and after its logout. */
const AT_ONCE = { before: 3, after: 20 }

const NOT_FORWARDED: Mutant = {
  name: 'invalidations are not forwarded',
  file: 'src/application/verifiers/verifier-hub.ts',
  find: 'this.#forward(encodeInvalidation(invalidation))',
  replace: 'encodeInvalidation(invalidation)',
}

/** Revocations are exact on real verifiers, in processes that are paused, killed and cut off. */
export const verifierFaultRows: readonly Row[] = [
  {
    id: 'G19',
    promise:
      'three verifiers on three instances, paused, killed, cut off and frozen: none accepts a token in a call after its logout',
    sizes: { ci: 3000, release: 1_000_000, mutant: 2000 },
    mutants: [
      NOT_FORWARDED,
      {
        name: 'the lease is not tested at a hit',
        file: 'src/adapters/verifier/verifier-core.ts',
        find: '!this.lease.holds(monotonicMs, wallMs) || ',
        replace: '',
      },
    ],
    run: (trial) => attackVerifiers(trial, 'node'),
  },
  {
    id: 'G19b',
    promise: 'the same with the verifier in Python',
    sizes: { ci: 1000, release: 100_000, mutant: 500 },
    mutants: [NOT_FORWARDED],
    run(trial) {
      if (spawnSync('python3', ['--version']).status !== 0) throw new Skipped('python3 is not installed')
      return attackVerifiers(trial, 'python')
    },
  },
]

/** A verifier with the proxy in front of its instance. */
interface Place {
  readonly verifier: VerifierProcess
  readonly proxy: TcpProxy
}

function attackVerifiers(trial: Trial, kind: 'node' | 'python'): Promise<void> {
  const secret = newServiceSecret()
  const env = { SERVICE_TOKENS: `verifiers[verify]=${secret}` }
  return withCluster(trial, { revocation: 'strict', customers: CUSTOMERS, env }, async (cluster) => {
    const proxies = await Promise.all(cluster.members.map((member) => openTcpProxy(throughProxy(member))))
    const places = proxies.map((proxy, i): Place => {
      // One in Python has a single address.
      const urls = (kind === 'python' ? [proxy] : [proxy, proxies[(i + 1) % 3] ?? proxy]).map(
        ({ url }) => `http://127.0.0.1:${new URL(url).port}`,
      )
      return { proxy, verifier: startVerifierProcess(kind, urls, secret) }
    })
    try {
      await attackPlaces(trial, cluster, places, kind)
      // One in Python does not say whether a result was cached.
      if (kind === 'node') await measureRecovery(trial, cluster, places)
    } finally {
      await Promise.all(places.map(({ verifier }) => verifier.stop()))
      await Promise.all(proxies.map((proxy) => proxy.close()))
    }
  })
}

/** The proxy takes the address of a PostgreSQL server. */
function throughProxy(member: Member): string {
  return `postgres://none@127.0.0.1:${new URL(member.url()).port}/none`
}

/** Customers log in and out, while every verifier verifies their tokens, before and after. */
async function attackPlaces(
  trial: Trial,
  cluster: Cluster,
  places: readonly Place[],
  kind: 'node' | 'python',
): Promise<void> {
  const [first] = cluster.members
  const logoutMs: number[] = []
  const counts = { after: 0, unavailable: 0, hits: 0, logouts: 0 }
  const live = (isOver: () => boolean) =>
    Promise.all(cluster.emails.map((email) => logInAndOut(email, isOver)))
  let begunFaults = () => 0
  await live(() => counts.logouts >= CALM)
  const chaos = startFaults(cluster, places)
  begunFaults = chaos.begun
  try {
    await live(() => counts.after >= trial.size && chaos.isComplete())
  } finally {
    await chaos.end()
  }
  trial.note(
    `${counts.after} verifications after ${counts.logouts} acknowledged logouts, 0 accepted; besides, ${counts.unavailable} without a result; ${counts.hits} hits before`,
  )
  trial.note(`logouts on an instance that no fault stops: ${shownTimes(logoutMs)}`)
  trial.note(`faults: ${chaos.shown()}`)
  // Verifiers that never cache prove nothing.
  if (kind === 'node') trial.require(counts.hits > counts.logouts, () => `only ${counts.hits} hits`)
  if (trial.judgesTimes)
    for (const ms of logoutMs) trial.require(ms <= MAX_LOGOUT_MS, () => `a logout took ${Math.round(ms)} ms`)

  async function logInAndOut(email: string, isComplete: () => boolean): Promise<void> {
    while (!isComplete()) {
      const login = await post(first, '/api/login', { body: { email, password: PASSWORD } })
      const token: string | undefined = login?.body.token
      if (token === undefined) continue
      let isAcknowledged = false
      let isOver = false
      const verifying = places.map(async ({ verifier }) => {
        while (!isOver) {
          const isAfter = isAcknowledged
          const length = isAfter ? AT_ONCE.after : AT_ONCE.before
          const verdicts = await Promise.all(Array.from({ length }, () => verifier.verify(token)))
          for (const verdict of verdicts) count(verdict, isAfter)
          await sleep(isAfter ? 2 : 10)
        }
      })
      await cachedFor(200 + Math.random() * 1800)
      const at = Math.random() < 0.7 ? first : (cluster.members[1 + Math.floor(Math.random() * 2)] ?? first)
      const beganMs = performance.now()
      const logout = await post(at, '/api/logout', { token })
      if (at === first) logoutMs.push(performance.now() - beganMs)
      trial.require(at !== first || logout?.status === 200, () => `a logout is ${logout?.status}`)
      // Without a response it may be revoked or not.
      isAcknowledged = logout?.status === 200
      if (isAcknowledged) counts.logouts += 1
      await sleep(isAcknowledged ? Math.random() * 2 * MAX_FAULT_MS : 0)
      isOver = true
      await Promise.all(verifying)
    }
  }

  /** Waits, at most until the next fault begins: a logout at that moment finds out most. */
  async function cachedFor(ms: number): Promise<void> {
    const begun = begunFaults()
    for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
      await sleep(20)
      if (begunFaults() > begun) return
    }
  }

  function count(verdict: Awaited<ReturnType<VerifierProcess['verify']>>, isAfter: boolean): void {
    if (verdict === null) return
    if (!isAfter) {
      if (verdict.wasCached) counts.hits += 1
      return
    }
    // Without a result the caller refuses, which counts as nothing here: a verifier that is cut off does it all the time.
    if (verdict.result === 'unavailable') {
      counts.unavailable += 1
      return
    }
    counts.after += 1
    trial.expect(
      verdict.result === 'none',
      () => `accepted after the acknowledgement${verdict.wasCached ? ', from the cache' : ''}`,
    )
  }
}

/** Injects every fault of verifiers, their connections and two instances, one after another at each place, concurrently. */
function startFaults({ members: [, killed, paused] }: Cluster, places: readonly Place[]) {
  const seen = new Map<string, number>()
  let begun = 0
  let isOver = false
  const lastly = (ms = MAX_FAULT_MS) => sleep(100 + Math.random() * ms)
  const faults = (place: Place): Readonly<Record<string, () => Promise<unknown>>> => ({
    async 'verifier paused'() {
      place.verifier.pause()
      await lastly()
      place.verifier.resume()
    },
    async 'connection frozen'() {
      place.proxy.freeze()
      // Longer than a lease, so that logouts are acknowledged meanwhile.
      await sleep(1000 + Math.random() * MAX_FAULT_MS)
      place.proxy.thaw()
    },
    async 'cut off'() {
      place.proxy.refuse()
      await lastly()
      place.proxy.admit()
    },
    async 'half-open connection'() {
      place.proxy.strand()
      await lastly()
    },
    'verifier killed': () => place.verifier.restart(),
  })
  const loops = places.map(async (place, i) => {
    const all = Object.entries(faults(place))
    for (let n = i; !isOver; n++) {
      const [name, fail] = all[n % all.length] ?? ['', async () => {}]
      await sleep(1000 + Math.random() * 1000)
      begun += 1
      await fail()
      seen.set(name, (seen.get(name) ?? 0) + 1)
      await sleep(Math.random() * 500)
      // As one that hung, it gets no lease for a time.
      await place.verifier.renew()
    }
  })
  const instances = [
    async () => {
      paused.pause()
      await lastly()
      paused.resume()
      seen.set('instance paused', (seen.get('instance paused') ?? 0) + 1)
      await lastly()
    },
    async () => {
      await sleep(2000 + Math.random() * 3000)
      await killed.restart()
      seen.set('instance killed', (seen.get('instance killed') ?? 0) + 1)
    },
  ].map(async (fail) => {
    while (!isOver) await fail()
  })
  return {
    /** The number of faults of verifiers and connections that have begun. */
    begun: () => begun,
    isComplete: () => seen.size === KINDS && Math.min(...seen.values()) >= MIN_EACH,
    shown: () => [...seen].map(([name, times]) => `${name} ${times}`).join(', '),
    async end() {
      isOver = true
      await Promise.all([...loops, ...instances])
    },
  }
}

/** Measures how long each verifier needs until it caches again, after each fault. Only one that hung needs longer. */
async function measureRecovery(
  trial: Trial,
  { members: [first, killed], emails: [email] }: Cluster,
  places: readonly Place[],
): Promise<void> {
  const login = await post(first, '/api/login', { body: { email, password: PASSWORD } })
  const token: string = login?.body.token
  for (const { proxy } of places) {
    proxy.thaw()
    proxy.admit()
  }
  await Promise.all(places.map(({ verifier }) => verifier.renew()))
  const [, place] = places
  if (place === undefined) return
  const { verifier, proxy } = place
  await verifier.restart()
  await recovered('the start of a process', START_MS)
  verifier.pause()
  await sleep(MAX_FAULT_MS)
  verifier.resume()
  await recovered('a pause')
  proxy.freeze()
  await sleep(2 * MAX_FAULT_MS)
  proxy.thaw()
  await recovered('a frozen connection')
  proxy.refuse()
  await sleep(MAX_FAULT_MS)
  proxy.admit()
  await recovered('a partition')
  await killed.restart()
  await recovered('the kill of an instance')

  async function recovered(from: string, moreMs = 0): Promise<void> {
    const beganMs = performance.now()
    let ms = 0
    for (let isCached = false; !isCached && ms < MAX_WAIT_MS; ms = performance.now() - beganMs) {
      const verdict = await verifier.verify(token)
      isCached = verdict?.wasCached === true
      await sleep(10)
    }
    trial.note(`caches again ${Math.round(ms)} ms after ${from}`)
    trial.require(ms < MAX_WAIT_MS, () => `caches no more after ${from}`)
    if (trial.judgesTimes)
      trial.require(ms <= MAX_RECOVERY_MS + moreMs, () => `caches again ${Math.round(ms)} ms after ${from}`)
  }
}
