import { ALERTS, type AlertName } from './alerts.ts'
import { CONDITIONS, type OpsState } from './conditions.ts'

/** A condition that holds now. */
export interface OpsProblem {
  readonly alert: AlertName
  /** When it began to hold, in milliseconds since the Unix epoch. */
  readonly sinceMs: number
}

/** What is wrong with a process, and since when. */
export interface OpsVerdict {
  /** Evaluates the conditions at `nowMs`, the wall clock. Returns those that hold for long enough, the worst first. */
  update(state: OpsState, nowMs: number): readonly OpsProblem[]
}

/** Returns a verdict that remembers when each condition began to hold. */
export function createVerdict(): OpsVerdict {
  const since = new Map<AlertName, number>()
  return {
    update(state, nowMs) {
      const problems: OpsProblem[] = []
      for (const [name, { holds, forMs }] of Object.entries(CONDITIONS)) {
        const alert = name as AlertName
        if (!holds(state)) {
          since.delete(alert)
          continue
        }
        const sinceMs = since.get(alert) ?? nowMs
        since.set(alert, sinceMs)
        if (nowMs - sinceMs >= forMs) problems.push({ alert, sinceMs })
      }
      return problems.sort((a, b) => rank(a.alert) - rank(b.alert))
    },
  }
}

/** Stable: conditions of one severity stay in the order of their table, which begins with the causes of others. */
function rank(alert: AlertName): number {
  return ALERTS[alert].severity === 'page' ? 0 : 1
}
