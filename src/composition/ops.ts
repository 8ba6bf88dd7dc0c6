import { hostname } from 'node:os'
import type { OpsSource } from '../adapters/http/ops-page/routes.ts'
import type { ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import { ALERTS, type AlertName } from '../adapters/ops/alerts.ts'
import { createEvents, markedLog, type OpsEvent } from '../adapters/ops/events.ts'
import { createSamples, SAMPLING_TIMES, type SamplingTimes } from '../adapters/ops/samples.ts'
import { startSampling } from '../adapters/ops/sampling.ts'
import { createVerdict, type OpsProblem } from '../adapters/ops/verdict.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Log } from '../application/ports/log.ts'
import type { CollectMetrics } from '../application/ports/metrics.ts'
import type { ConnectedVerifier } from '../application/verifiers/verifier-session.ts'
import type { Clock } from '../lib/clock.ts'

/** The data of the operator's page about this process. */
export interface Ops extends OpsSource {
  /** The log that also marks some events on the charts. */
  readonly log: Log
  /** The events of this process, oldest first. */
  readonly events: () => readonly OpsEvent[]
  /** Marks an event that the log of this process does not have. */
  mark(title: string, kind?: OpsEvent['kind']): void
  /** Starts sampling. Returns a function that stops it. */
  start(running: WatchedService): () => void
}

/** What the page asks of the running service. */
export interface WatchedService {
  readonly collect: CollectMetrics
  /** The events of the whole instance, oldest first; undefined when this process is the instance. */
  readonly events?: (() => Promise<readonly OpsEvent[]>) | undefined
  readonly readiness: () => Promise<ReadinessReport>
  /** The number of other processes of the database; undefined when it is not known. */
  readonly otherInstances: () => number | undefined
  /** The verifiers that are connected to this process. */
  readonly verifiers: () => readonly ConnectedVerifier[]
}

const IDLE: WatchedService = {
  collect: async () => [],
  readiness: async () => ({ ready: false, checks: {} }),
  otherInstances: () => undefined,
  verifiers: () => [],
}

/** Returns null when `OPS` is off: then nothing is sampled or stored. */
export function openOps({
  configuration,
  version,
  clock,
  log,
  times = SAMPLING_TIMES,
}: {
  readonly configuration: Configuration
  readonly version: string
  readonly clock: Clock
  readonly log: Log
  readonly times?: SamplingTimes | undefined
}): Ops | null {
  if (!configuration.ops) return null
  let running = IDLE
  const samples = createSamples({ collect: () => running.collect(), clock, keep: times.keep })
  const events = createEvents()
  const verdict = createVerdict()
  let problems: readonly OpsProblem[] = []
  const nowMs = () => clock.nowMs()
  const mark = (title: string, kind: OpsEvent['kind'] = 'neutral') =>
    events.add({ atMs: nowMs(), title, kind })

  return {
    log: markedLog(log, events, nowMs),
    events: events.list,
    mark,
    nowMs,
    publicUrl: configuration.publicUrl,
    async live() {
      await judge()
      const all = await running.events?.().catch(() => undefined)
      return {
        instance: `${hostname()}:${process.pid}`,
        other_instances: running.otherInstances() ?? null,
        workers: configuration.workers,
        verifiers: running.verifiers().map(({ name, lastSeenMs }) => ({ name, last_seen_ms: lastSeenMs })),
        version: configuration.appVersion ?? version,
        every_ms: times.everyMs,
        keep: times.keep,
        problems: problems.map(({ alert, sinceMs }) => ({ alert, since_ms: sinceMs, ...ALERTS[alert] })),
        events: (all ?? events.list()).map(({ atMs, title, kind }) => ({ at_ms: atMs, title, kind })),
        samples: samples.table(),
      }
    },
    start(service) {
      running = service
      mark(`Started, version ${configuration.appVersion ?? version}`)
      const take = async () => void (await Promise.all([samples.take(), judge()]))
      return startSampling({ ...samples, take }, times.everyMs, log)
    },
  }

  /** Evaluates the conditions now, and marks those that begin or end. */
  async function judge(): Promise<void> {
    const { checks } = await running.readiness()
    const table = samples.table()
    const found = verdict.update({ checks, column: (name) => table[name] }, nowMs())
    for (const { alert } of withoutAll(found, problems)) mark(ALERTS[alert].title, 'bad')
    for (const { alert } of withoutAll(problems, found)) mark(`Over: ${ALERTS[alert].title}`, 'good')
    problems = found
  }
}

function withoutAll(some: readonly OpsProblem[], others: readonly OpsProblem[]): readonly OpsProblem[] {
  const names = new Set<AlertName>(others.map(({ alert }) => alert))
  return some.filter(({ alert }) => !names.has(alert))
}
