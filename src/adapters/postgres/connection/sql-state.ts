/** What a driver's error means for the caller and for its connection. */
export interface Verdict {
  /** Whether it is a bug of the service, such as wrong SQL or a violated constraint: a retry does not help. */
  readonly isBug: boolean
  /** Whether the connection is dead or in an unknown state, so that it must not be used again. */
  readonly isConnectionLost: boolean
}

const BUG_CLASSES = ['0A', '21', '22', '23', '25', '2D', '3B', '42']

// Exceptions to the bug classes: each ends with the next connection, or when an operator acts.
const HEALING = new Map([
  ['25006', { dropped: true }], // read-only: the primary has moved
  ['25P03', { dropped: true }], // idle in a transaction for too long
  // A prepared statement that a migration or a pooler has invalidated.
  ['0A000', { dropped: true }],
  ['26000', { dropped: true }],
  ['42P05', { dropped: true }],
  // A privilege was revoked, or a table or function is missing or outside the search path, which a new connection reads
  // again.
  ['42501', { dropped: false }],
  ['42P01', { dropped: true }],
  ['42883', { dropped: true }],
])

/** Returns the SQLSTATE of an error of the server, or null for an error of the network or the driver. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null
}

/** Classifies the error of a query or of a connection attempt (PostgreSQL, appendix A). */
export function judge(error: unknown): Verdict {
  const state = sqlState(error)
  if (state === null) {
    const isBug = error instanceof TypeError || error instanceof RangeError
    return { isBug, isConnectionLost: !isBug }
  }
  const healing = HEALING.get(state)
  if (healing !== undefined) return { isBug: false, isConnectionLost: healing.dropped }
  return { isBug: BUG_CLASSES.includes(state.slice(0, 2)), isConnectionLost: /^(08|57P)/.test(state) }
}

/** Whether the server refused to write because it is, or has become, read-only. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006'
}

/** Whether a disk of the server is full: it can read, but refuses writes that need more space. */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === '53100'
}

/**
 * Whether a notice says that the commit is done on the primary but may be missing on its synchronous standby, because an
 * operator cancelled the wait. The server reports success, but a failover may undo the commit. The notice is recognised by
 * its routine, because its text is translated.
 */
export function isUnreplicated(notice: object): boolean {
  return 'routine' in notice && notice.routine === 'SyncRepWaitForLSN'
}
