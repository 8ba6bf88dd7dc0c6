import { appendFileSync, createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** How long an instance may not know of a revocation after its commit, in milliseconds. */
const LEASE_MS = 1000

const LINES_AT_ONCE = 1000

/** One operation of a client for one customer, from its invocation to its return by the client's clock. */
export interface Operation {
  readonly customer: string
  /** The token that was presented or revoked; of a login, the one that it issues, if any. */
  readonly token: string
  /** A `login` replaces the customer's earlier token; an `update` is a revocation by another program. */
  readonly does: 'validate' | 'logout' | 'login' | 'update'
  /** The instance that received the request. */
  readonly at: string
  readonly invokedMs: number
  readonly returnedMs: number
  readonly outcome: OperationOutcome
}

/** A revocation is accepted when it was acknowledged, and refused when the token was revoked before. */
export type OperationOutcome = 'accepted' | 'refused' | 'unknown'

/** An operation that no write-once register can return, and the one that it contradicts, if any. */
export interface Anomaly {
  readonly kind: string
  readonly operation: Operation
  readonly against: Operation | undefined
}

/** A history that is written to a file, one line per operation, in the order of the returns. */
export interface History {
  record(
    what: Pick<Operation, 'customer' | 'token' | 'does' | 'at'>,
    call: () => Promise<OperationOutcome>,
  ): Promise<OperationOutcome>
  /** The number of operations that have returned. */
  size(): number
  close(): void
}

export function openHistory(file: string): History {
  let size = 0
  let lines: string[] = []

  return {
    async record(what, call) {
      const invokedMs = performance.now()
      const outcome = await call()
      const operation: Operation = { ...what, invokedMs, returnedMs: performance.now(), outcome }
      size += 1
      if (lines.push(JSON.stringify(operation)) === LINES_AT_ONCE) write()
      return outcome
    },
    size: () => size,
    close: write,
  }

  function write(): void {
    appendFileSync(file, lines.map((line) => `${line}\n`).join(''))
    lines = []
  }
}

export async function readHistory(file: string): Promise<Operation[]> {
  const operations: Operation[] = []
  for await (const line of createInterface({ input: createReadStream(file) }))
    operations.push(JSON.parse(line))
  return operations
}

/**
 * Returns the anomalies of a history. In a correct one, each customer is a register that holds one login token. Each
 * token is written once, from live to revoked, and every instance reads it as the contract promises. At most one
 * anomaly per operation is returned. The time is linear in the operations of a token and the logins of its customer.
 */
export function anomaliesIn(operations: Iterable<Operation>): Anomaly[] {
  return groupedBy('customer', operations).flatMap((ofCustomer) => {
    const logins = ofCustomer.filter(isLogin)
    const others = ofCustomer.filter((operation) => !isLogin(operation))
    return groupedBy('token', others).flatMap((ofToken) => {
      const issuing = logins.find(({ token }) => token === ofToken[0]?.token)
      const replacing = logins.filter((login) => login !== issuing && mayReplace(login, issuing))
      const facts = factsOf([...ofToken, ...replacing], issuing)
      return ofToken.flatMap((operation) => anomalyOf(operation, facts) ?? [])
    })
  })
}

/** Returns the anomaly as a sentence, for finding its cause. */
export function shownAnomaly({ kind, operation, against }: Anomaly): string {
  return `token ${operation.token}, ${kind}: ${shown(operation)}${against === undefined ? '' : `, but ${shown(against)}`}`
}

/** The earliest event of each kind for a token. Whatever contradicts a later one contradicts it. */
interface Facts {
  /** It may have revoked the token. An operation that returned before it began must have found the token live. */
  readonly begun: Operation | undefined
  /** It promised that no instance accepts the token any more. */
  readonly acknowledged: Operation | undefined
  /** It proves that the revocation was committed. */
  readonly committed: Operation | undefined
  /** It reports that it revoked the token itself. */
  readonly written: Operation | undefined
  readonly refusedAt: ReadonlyMap<string, Operation>
}

function factsOf(operations: readonly Operation[], issuing: Operation | undefined): Facts {
  const begun = earliest(operations.filter(mayRevoke), 'invokedMs')
  // A refusal without a reason proves nothing about the time of the revocation.
  const refused = operations.filter(
    (operation) => operation.outcome === 'refused' && hasReason(operation, begun),
  )
  const accepted = operations.filter(({ outcome }) => outcome === 'accepted')
  const revoked = accepted.filter(isWriter)
  const replaced = accepted.filter((login) => isLogin(login) && isAfterIssue(login, issuing))
  return {
    begun,
    acknowledged: earliest([...revoked, ...refused, ...replaced].filter(isAcknowledgement), 'returnedMs'),
    committed: earliest([...refused, ...revoked, ...replaced], 'returnedMs'),
    written: earliest(revoked, 'returnedMs'),
    refusedAt: earliestOfEach(refused),
  }
}

function anomalyOf(operation: Operation, facts: Facts): Anomaly | null {
  const { begun, acknowledged, committed, written, refusedAt } = facts
  const { at, outcome } = operation
  if (outcome === 'refused')
    return hasReason(operation, begun)
      ? null
      : anomaly('refused before anything could have revoked it', begun)
  if (outcome === 'unknown') return null
  if (isWriter(operation)) {
    if (isAfter(committed)) return anomaly('revoked once more', committed)
    return written === operation ? null : anomaly('revoked once more', written)
  }
  if (isAfter(acknowledged)) return anomaly('accepted after its revocation was acknowledged', acknowledged)
  if (isAfter(refusedAt.get(at))) return anomaly('accepted where it had been refused', refusedAt.get(at))
  if (isAfter(committed, LEASE_MS)) return anomaly('accepted a second after its revocation', committed)
  return null

  function isAfter(earlier: Operation | undefined, byMs = 0): boolean {
    return earlier !== undefined && operation.invokedMs > earlier.returnedMs + byMs
  }

  function anomaly(kind: string, against: Operation | undefined): Anomaly {
    return { kind, operation, against }
  }
}

// Without a response it may have revoked the token at any time from its invocation on.
function mayRevoke({ does, outcome }: Operation): boolean {
  return does !== 'validate' && outcome !== 'refused'
}

function hasReason({ returnedMs }: Operation, begun: Operation | undefined): boolean {
  return begun !== undefined && begun.invokedMs <= returnedMs
}

function isLogin({ does }: Operation): boolean {
  return does === 'login'
}

// A writer is accepted only when it revoked the token itself. A login is also accepted when it finds nothing to
// revoke.
function isWriter({ does }: Operation): boolean {
  return does === 'logout' || does === 'update'
}

// A login without a response may commit at any later time.
function mayReplace({ outcome, returnedMs }: Operation, issuing: Operation | undefined): boolean {
  return outcome === 'unknown' || issuing === undefined || returnedMs > issuing.invokedMs
}

// Of two concurrent logins, either may have replaced the other's token.
function isAfterIssue({ invokedMs }: Operation, issuing: Operation | undefined): boolean {
  return issuing === undefined || invokedMs > issuing.returnedMs
}

/** Every login and logout acknowledges, even one that found the token revoked. Other writers do not. */
function isAcknowledgement({ does }: Operation): boolean {
  return does === 'logout' || does === 'login'
}

function groupedBy(key: 'customer' | 'token', operations: Iterable<Operation>): Operation[][] {
  const groups = new Map<string, Operation[]>()
  for (const operation of operations) {
    const group = groups.get(operation[key])
    if (group === undefined) groups.set(operation[key], [operation])
    else group.push(operation)
  }
  return [...groups.values()]
}

function earliest(
  operations: readonly Operation[],
  moment: 'invokedMs' | 'returnedMs',
): Operation | undefined {
  let first = operations[0]
  for (const operation of operations) if (first && operation[moment] < first[moment]) first = operation
  return first
}

function earliestOfEach(refused: readonly Operation[]): Map<string, Operation> {
  const first = new Map<string, Operation>()
  for (const operation of refused) {
    if (operation.returnedMs < (first.get(operation.at)?.returnedMs ?? Infinity))
      first.set(operation.at, operation)
  }
  return first
}

function shown({ does, at, invokedMs, returnedMs, outcome }: Operation): string {
  return `${does} at ${at} from ${invokedMs.toFixed(1)} to ${returnedMs.toFixed(1)} ms was ${outcome}`
}
