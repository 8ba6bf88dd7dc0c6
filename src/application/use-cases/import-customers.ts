import { emailProblem, foldedEmail, nameProblem, trimmedEmail } from '../../domain/customer.ts'
import { passwordHashProblem } from '../../domain/password.ts'
import type { Deadline } from '../deadline.ts'
import type { CustomerCredentials } from '../ports/customers.ts'
import type { Ports } from '../ports/ports.ts'

/** A customer as a file from elsewhere tells of one, in the line where the row begins. */
export interface ReadRow {
  readonly line: number
  readonly email: string
  readonly passwordHash: string
  /** Null, or nothing but white space, where there is none. */
  readonly name: string | null
}

/** A row of which no customer can be made; `problem` is a sentence that repeats nothing of it. */
export interface RefusedRow {
  readonly line: number
  readonly problem: string
}

/** What an import did next: it refused a row, or settled a batch of good ones, in which those that were there stay as they are. */
export type ImportStep =
  | { readonly kind: 'refused'; readonly row: RefusedRow }
  | { readonly kind: 'settled'; readonly added: number; readonly alreadyThere: number }

/**
 * Stores the customers of the rows, and tells each step. A batch is stored as a whole before its step is told, so
 * whoever stops listening leaves nothing half done. A dry run only looks who is there.
 */
export type ImportCustomers = (
  rows: AsyncIterable<ReadRow | RefusedRow>,
  options: { readonly isDryRun: boolean; readonly deadline: () => Deadline },
) => AsyncGenerator<ImportStep, void, void>

const BATCH = 500
/** Of a dry run, at once. */
const LOOKED_UP = 50

export function createImportCustomers({ customers, audit, clock, ids }: Ports): ImportCustomers {
  return async function* importCustomers(rows, { isDryRun, deadline }) {
    const lineOf = new Map<string, number>()
    let batch: CustomerCredentials[] = []
    for await (const row of rows) {
      const checked = 'problem' in row ? row : checkedRow(row, lineOf)
      if ('problem' in checked) yield { kind: 'refused', row: checked }
      else batch.push(checked)
      if (batch.length < BATCH) continue
      yield await settled(batch)
      batch = []
    }
    if (batch.length > 0) yield await settled(batch)

    async function settled(credentials: readonly CustomerCredentials[]): Promise<ImportStep> {
      const isNew = isDryRun
        ? await notThere(credentials, deadline)
        : await deadline().run((timeoutMs) => customers.addMany(credentials, timeoutMs))
      const added = isNew.filter(Boolean).length
      if (added > 0 && !isDryRun) audit.record('customer.added', { count: added })
      return { kind: 'settled', added, alreadyThere: credentials.length - added }
    }
  }

  /** Looked up one by one, and as many at once as a distant database can be waited for. */
  async function notThere(
    credentials: readonly CustomerCredentials[],
    deadline: () => Deadline,
  ): Promise<readonly boolean[]> {
    const found: boolean[] = []
    for (let at = 0; at < credentials.length; at += LOOKED_UP) {
      const waiting = deadline()
      const some = credentials
        .slice(at, at + LOOKED_UP)
        .map(({ customer: { email } }) =>
          waiting.run(async (timeoutMs) => (await customers.findByEmail(email, timeoutMs)) === null),
        )
      found.push(...(await Promise.all(some)))
    }
    return found
  }

  function checkedRow(row: ReadRow, lineOf: Map<string, number>): CustomerCredentials | RefusedRow {
    const problem = problemOf(row) ?? repetitionIn(lineOf, row)
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
    return { customer, passwordHash: passwordHash.trim() }
  }
}

function problemOf({ email, name, passwordHash }: ReadRow): string | null {
  return (
    inField('email', emailProblem(trimmedEmail(email))) ??
    // Columns of a fixed width are padded, and no white space can be part of a hash.
    inField('password_hash', passwordHashProblem(passwordHash.trim())) ??
    inField('name', nameProblem(name?.trim() ?? ''))
  )
}

/** Remembers the row's e-mail, or tells where it stood before. */
function repetitionIn(lineOf: Map<string, number>, { line, email }: ReadRow): string | null {
  const folded = foldedEmail(email)
  const earlier = lineOf.get(folded)
  if (earlier === undefined) lineOf.set(folded, line)
  return earlier === undefined ? null : `email: Is the one of line ${earlier}.`
}

function inField(field: string, problem: string | null): string | null {
  return problem === null ? null : `${field}: ${problem}`
}
