/** What an error of the driver means for the caller and for the connection it came from. */
export interface Verdict {
  /** A fault of our own (wrong SQL, a broken constraint): to be seen, not to be answered with "try again". */
  readonly isBug: boolean
  /** The connection is dead or no longer what it was: it must not be used again. */
  readonly isConnectionLost: boolean
}

const BUG_CLASSES = ['0A', '21', '22', '23', '25', '2D', '3B', '42']

// Not a bug although its class says so: each heals, at the latest with the next connection or by an operator.
const HEALING = new Map([
  ['22021', { dropped: false }], // a byte sequence that is not UTF-8
  ['25006', { dropped: true }], // read-only: the primary has moved
  ['25P03', { dropped: true }], // idle in a transaction for too long
  // A prepared statement that another migration, or a pooler, has made useless.
  ['0A000', { dropped: true }],
  ['26000', { dropped: true }],
  ['42P05', { dropped: true }],
  // A privilege was revoked; a table or a function is gone, or stands in a schema outside the search path, which a new
  // connection reads anew.
  ['42501', { dropped: false }],
  ['42P01', { dropped: true }],
  ['42883', { dropped: true }],
])

/** The SQLSTATE that the server sent with an error, or null for an error of network or driver. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null
}

/** Judges an error that a query or a connection attempt was rejected with (PostgreSQL, appendix A). */
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

/** Whether the server has no room on a disk: it reads, and refuses what needs more room. */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === '53100'
}

/**
 * Whether a notice tells that the commit is done on the primary and may be missing on its synchronous standby: somebody
 * cancelled the wait. The server reports success; a failover may undo it. Known by its origin, which is not translated.
 */
export function isUnreplicated(notice: object): boolean {
  return 'routine' in notice && notice.routine === 'SyncRepWaitForLSN'
}
