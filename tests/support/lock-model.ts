import type {
  acquire,
  LockNames,
  NameState,
  ProcessLock,
} from '../../src/adapters/embedded-postgres/linked-lock.ts'

/** A way to acquire the lock: that of the source, or a mutant. */
export type Acquire = typeof acquire

/** What the model explores. */
export interface Exploration {
  readonly processes: number
  readonly kills: number
  /** Names that killed processes have left. */
  readonly stale: readonly string[]
}

/** The next event: a step of a process, or its SIGKILL. */
interface Event {
  readonly process: number
  readonly isKill: boolean
}

interface Socket {
  readonly owner: number
  isListening: boolean
}

const LOCK = 'lock'
/** More than any run of the lock needs, so that an endless one is found. */
const MAX_STEPS = 200

/**
 * Explores every order of the steps of some processes, each of which acquires the lock once and releases it, and of kills
 * between them. Then a last process must acquire the lock. Returns the number of states, and a description of the first
 * violation or null.
 */
export async function exploreLock(
  acquireLock: Acquire,
  exploration: Exploration,
): Promise<{ readonly states: number; readonly violation: string | null }> {
  const seen = new Set<string>()
  const pending: (readonly Event[])[] = [[]]
  for (let events = pending.pop(); events !== undefined; events = pending.pop()) {
    const run = startRun(acquireLock, exploration)
    for (const event of events) await run.apply(event)
    const state = run.state()
    if (seen.has(state)) continue
    seen.add(state)
    const violation = events.length > MAX_STEPS ? 'endless' : (run.violation() ?? (await run.lastProblem()))
    if (violation !== null) return { states: seen.size, violation: `${violation} after ${describe(events)}` }
    const killed = events.filter(({ isKill }) => isKill).length
    for (const process of run.waiting()) {
      pending.push([...events, { process, isKill: false }])
      if (killed < exploration.kills) pending.push([...events, { process, isKill: true }])
    }
  }
  return { states: seen.size, violation: null }
}

function startRun(acquireLock: Acquire, { processes, stale }: Exploration) {
  const names = new Map<string, Socket>(stale.map((name) => [name, { owner: -1, isListening: false }]))
  const pending = new Map<number, { readonly step: string; readonly go: () => void }>()
  const holders = new Set<number>()
  let violation: string | null = null

  for (let process = 0; process < processes; process++) void live(process)

  async function live(process: number): Promise<void> {
    const lock = await acquireLock(namesOf(process), LOCK)
    if (lock === undefined) return
    holders.add(process)
    if (holders.size > 1) violation ??= `processes ${[...holders].join(' and ')} hold the lock`
    await turn(process, 'hold')
    holders.delete(process)
    await lock.release()
  }

  /** Resolves when the process may go on with its step. A killed one waits for ever. */
  function turn(process: number, step: string): Promise<void> {
    return new Promise((go) => pending.set(process, { step, go }))
  }

  function namesOf(process: number): LockNames {
    return {
      async find(name): Promise<NameState> {
        await turn(process, `find ${name}`)
        const socket = names.get(name)
        return socket === undefined ? 'absent' : socket.isListening ? 'held' : 'stale'
      },
      async publish(name): Promise<ProcessLock | null> {
        await turn(process, `publish ${name}`)
        if (names.has(name)) return null
        const socket = { owner: process, isListening: true }
        names.set(name, socket)
        return {
          async release() {
            await turn(process, `release ${name}`)
            names.delete(name)
            await turn(process, `close ${name}`)
            socket.isListening = false
          },
        }
      },
      async remove(name) {
        await turn(process, `remove ${name}`)
        if (names.get(name)?.isListening) violation ??= `process ${process} removes a name that is held`
        names.delete(name)
      },
    }
  }

  return {
    async apply({ process, isKill }: Event): Promise<void> {
      const next = pending.get(process)
      pending.delete(process)
      if (!isKill) {
        next?.go()
        return settled()
      }
      holders.delete(process)
      for (const socket of names.values()) if (socket.owner === process) socket.isListening = false
    },
    waiting: () => [...pending.keys()],
    violation: () => violation,
    /** The future of a process depends only on its pending step and on what it holds. */
    state: () => JSON.stringify([[...names].sort(), [...pending].sort(), [...holders]]),
    /** Lets one more process run alone when all others have ended. Returns why it cannot hold the lock, or null. */
    async lastProblem(): Promise<string | null> {
      if (pending.size > 0) return null
      void live(processes)
      for (let steps = 0; steps < MAX_STEPS && !holders.has(processes); steps++)
        await this.apply({ process: processes, isKill: false })
      return holders.has(processes) ? null : 'the last process cannot hold the lock'
    },
  }
}

/** Resolves when every process waits for the scheduler. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function describe(events: readonly Event[]): string {
  return events.map(({ process, isKill }) => `${isKill ? 'kill ' : ''}${process}`).join(', ')
}
