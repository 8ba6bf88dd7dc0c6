import { foldedEmail, nameProblem, newEmailProblem, trimmedEmail } from '../../domain/customer.ts'
import { importedPasswordHash, passwordHashProblem } from '../../domain/password.ts'
import type { Deadline } from '../deadline.ts'
import type { CustomerCredentials } from '../ports/customers.ts'
import type { Ports } from '../ports/ports.ts'

/** A customer as read from an import file. */
export interface ReadRow {
  /** The number of the line where the row begins, from 1. */
  readonly line: number
  readonly email: string
  readonly passwordHash: string
  /** Null, or only white space, when the customer has no name. */
  readonly name: string | null
}

/** An invalid row; `problem` is a sentence that repeats no value of the row. */
export interface RefusedRow {
  readonly line: number
  readonly problem: string
}

/** A step of an import: it refused a row, or stored a batch of valid rows. Customers who exist stay unchanged. */
export type ImportStep =
  | { readonly kind: 'refused'; readonly row: RefusedRow }
  | { readonly kind: 'settled'; readonly added: number; readonly alreadyThere: number }

/**
 * Stores the customers of the rows and yields each step. A batch is stored completely before its step is yielded, so a
 * caller who stops early leaves no batch half stored. A dry run only checks which customers exist. Throws `Unavailable`
 * when a batch cannot be stored in time; the outcome of that batch is then unknown.
 */
export type ImportCustomers = (
  rows: AsyncIterable<ReadRow | RefusedRow>,
  options: { readonly isDryRun: boolean; readonly deadline: () => Deadline },
) => AsyncGenerator<ImportStep, void, void>

const BATCH_SIZE = 500
/** Concurrent lookups of a dry run. */
const MAX_LOOKUPS = 50

export function createImportCustomers({
  customers,
  audit,
  clock,
  ids,
}: Pick<Ports, 'customers' | 'audit' | 'clock' | 'ids'>): ImportCustomers {
  return async function* importCustomers(rows, { isDryRun, deadline }) {
    const lines = new Map<string, number>()
    let batch: CustomerCredentials[] = []
    for await (const row of rows) {
      const checked = 'problem' in row ? row : checkRow(row, lines)
      if ('problem' in checked) yield { kind: 'refused', row: checked }
      else batch.push(checked)
      if (batch.length < BATCH_SIZE) continue
      yield await settle(batch)
      batch = []
    }
    if (batch.length > 0) yield await settle(batch)

    async function settle(credentials: readonly CustomerCredentials[]): Promise<ImportStep> {
      const isNew = isDryRun
        ? await findNew(credentials, deadline)
        : await deadline().run((timeoutMs) => customers.addMany(credentials, timeoutMs))
      const added = isNew.filter(Boolean).length
      if (added > 0 && !isDryRun) audit.record('customer.added', { count: added })
      return { kind: 'settled', added, alreadyThere: credentials.length - added }
    }
  }

  /** Returns for each whether no customer has the e-mail. Limited concurrency lets a distant database respond in time. */
  async function findNew(
    credentials: readonly CustomerCredentials[],
    deadline: () => Deadline,
  ): Promise<readonly boolean[]> {
    const found: boolean[] = []
    for (let at = 0; at < credentials.length; at += MAX_LOOKUPS) {
      const batchDeadline = deadline()
      const some = credentials
        .slice(at, at + MAX_LOOKUPS)
        .map(({ customer: { email } }) =>
          batchDeadline.run(async (timeoutMs) => (await customers.findByEmail(email, timeoutMs)) === null),
        )
      found.push(...(await Promise.all(some)))
    }
    return found
  }

  function checkRow(row: ReadRow, lines: Map<string, number>): CustomerCredentials | RefusedRow {
    const problem = rowProblem(row) ?? duplicateProblem(lines, row)
    return problem === null ? toCredentials(row) : { line: row.line, problem }
  }

  function toCredentials({ email, name, passwordHash }: ReadRow): CustomerCredentials {
    const customer = {
      id: ids.next(),
      email: trimmedEmail(email),
      name: name?.trim() || null,
      createdAtMs: clock.nowMs(),
      disabledAtMs: null,
    }
    return { customer, passwordHash: importedPasswordHash(passwordHash.trim()) }
  }
}

function rowProblem({ email, name, passwordHash }: ReadRow): string | null {
  return (
    inField('email', newEmailProblem(trimmedEmail(email))) ??
    // Columns of a fixed width are padded, and a hash contains no white space.
    inField('password_hash', passwordHashProblem(importedPasswordHash(passwordHash.trim()))) ??
    inField('name', nameProblem(name?.trim() ?? ''))
  )
}

/** Stores the row's e-mail; returns a problem when an earlier row has the same e-mail. */
function duplicateProblem(lines: Map<string, number>, { line, email }: ReadRow): string | null {
  const folded = foldedEmail(email)
  const earlier = lines.get(folded)
  if (earlier === undefined) lines.set(folded, line)
  return earlier === undefined ? null : `email: Is the same as in line ${earlier}.`
}

function inField(field: string, problem: string | null): string | null {
  return problem === null ? null : `${field}: ${problem}`
}
