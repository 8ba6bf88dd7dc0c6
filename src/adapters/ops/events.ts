import type { Log } from '../../application/ports/log.ts'

/** An event that the page marks on its charts. */
export interface OpsEvent {
  /** In milliseconds since the Unix epoch. */
  readonly atMs: number
  readonly title: string
  /** Whether something is worse from then on, better, or neither. */
  readonly kind: 'bad' | 'good' | 'neutral'
}

/** The last events of a process. */
export interface OpsEvents {
  add(event: OpsEvent): void
  /** The events, oldest first. */
  list(): readonly OpsEvent[]
}

const MAX_EVENTS = 200
/** An event that several processes report within this time is one: each evaluates the same conditions. */
const SAME_MS = 10_000

/** The events of the log that are marked. */
const MARKED: Readonly<Record<string, Pick<OpsEvent, 'title' | 'kind'>>> = {
  'cache.suspended': { title: 'Cache suspended', kind: 'bad' },
  'cache.resumed': { title: 'Cache resumed', kind: 'good' },
  'database.migrated': { title: 'Migration applied', kind: 'neutral' },
  'database.read_only': { title: 'Database is read-only', kind: 'bad' },
  'database.disk_full': { title: 'Disk of the database is full', kind: 'bad' },
  'worker.ended': { title: 'Worker replaced', kind: 'bad' },
  'embedded_postgres.died': { title: 'Embedded PostgreSQL stopped', kind: 'bad' },
  'embedded_postgres.restarted': { title: 'Embedded PostgreSQL restarted', kind: 'good' },
}

/** Stores at most the last 200 events. */
export function createEvents(): OpsEvents {
  const events: OpsEvent[] = []
  return {
    add(event) {
      events.push(event)
      if (events.length > MAX_EVENTS) events.shift()
    },
    list: () => events,
  }
}

/** Returns the last 200 events of several processes, oldest first. What several report within ten seconds is listed once. */
export function mergeEvents(lists: readonly (readonly OpsEvent[])[]): readonly OpsEvent[] {
  const all = lists.flatMap((events, source) => events.map((event) => ({ event, source })))
  const merged: OpsEvent[] = []
  const last = new Map<string, { readonly atMs: number; readonly source: number }>()
  for (const { event, source } of all.sort((a, b) => a.event.atMs - b.event.atMs)) {
    const other = last.get(event.title)
    if (other !== undefined && other.source !== source && event.atMs - other.atMs < SAME_MS) continue
    last.set(event.title, { atMs: event.atMs, source })
    merged.push(event)
  }
  return merged.slice(-MAX_EVENTS)
}

/** Returns a log that also adds its marked events to `events`. */
export function markedLog(log: Log, events: OpsEvents, nowMs: () => number): Log {
  const mark = (event: string) => {
    const marked = MARKED[event]
    if (marked !== undefined) events.add({ atMs: nowMs(), ...marked })
  }
  return {
    info(event, fields) {
      mark(event)
      log.info(event, fields)
    },
    warn(event, fields) {
      mark(event)
      log.warn(event, fields)
    },
    error(event, fields) {
      mark(event)
      log.error(event, fields)
    },
  }
}
