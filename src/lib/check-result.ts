/**
 * The state of a check. `warning`: an operator should look at it. `failure`: the service does not start, or does not work
 * as configured.
 */
export type CheckState = 'ok' | 'warning' | 'failure'

/** The result of one check. Its texts contain no secrets. */
export interface CheckResult {
  /** A stable name, such as `database.clock`. */
  readonly name: string
  readonly state: CheckState
  /** A complete sentence. */
  readonly message: string
  /** What to do; null when nothing is needed. */
  readonly hint: string | null
  /** Measured values, under stable names that include the unit. */
  readonly facts?: Facts
}

export type Facts = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** Returns a result of state `ok`, which needs no action. */
export function checkPassed(name: string, message: string, facts?: Facts): CheckResult {
  return { name, state: 'ok', message, hint: null, ...(facts === undefined ? {} : { facts }) }
}

/** Returns a result that needs action, with a hint what to do. */
export function checkFailed(
  name: string,
  state: 'warning' | 'failure',
  message: string,
  hint: string,
  facts?: Facts,
): CheckResult {
  return { ...checkPassed(name, message, facts), state, hint }
}
