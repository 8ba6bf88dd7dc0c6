/**
 * How something that was examined is: as it should be; worth a look; or such that the service does not start, or does
 * not do what it is configured to do.
 */
export type CheckState = 'ok' | 'warning' | 'failure'

/** What one check found out. No text of it has a secret. */
export interface CheckResult {
  /** Never renamed, such as `database.clock`. */
  readonly name: string
  readonly state: CheckState
  /** A whole sentence. */
  readonly message: string
  /** What to do about it; null where nothing is to be done. */
  readonly hint: string | null
  /** What was measured, under names with their units that are never changed. */
  readonly facts?: Facts
}

export type Facts = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A finding that needs nothing to be done. */
export function checkPassed(name: string, message: string, facts?: Facts): CheckResult {
  return { name, state: 'ok', message, hint: null, ...(facts === undefined ? {} : { facts }) }
}

/** A finding that needs something to be done. */
export function checkFailed(
  name: string,
  state: 'warning' | 'failure',
  message: string,
  hint: string,
  facts?: Facts,
): CheckResult {
  return { ...checkPassed(name, message, facts), state, hint }
}
