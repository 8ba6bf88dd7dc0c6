import type { Customer } from '../../domain/customer.ts'
import { type LoginToken, tokenState } from '../../domain/login-token.ts'
import { toJsonDocument } from './json.ts'
import { customerFields, tokenFields } from './json-fields.ts'
import { printable, printableTime } from './printable.ts'
import { createTable, pairs } from './table.ts'

/** The time and the terminal of a report. */
interface Shown {
  readonly nowMs: number
  readonly maxWidth: number
}

/** Returns a function that formats pages of customers as lines of one table. */
export function createCustomerTable(maxWidth: number): (customers: readonly Customer[]) => string {
  const table = createTable(['CREATED', 'STATE', 'EMAIL', 'NAME'], maxWidth)
  return (customers) =>
    table(
      customers.map((customer) => [
        printableTime(customer.createdAtMs),
        customer.disabledAtMs === null ? 'active' : 'disabled',
        printable(customer.email),
        printable(customer.name ?? ''),
      ]),
    )
}

/** Returns the report of one customer: its active tokens, and the number of revoked and expired ones. */
export function customerReport(
  customer: Customer,
  tokens: readonly LoginToken[],
  { nowMs, maxWidth }: Shown,
): string {
  const active = tokens.filter((token) => tokenState(token, nowMs) === 'active')
  const count = (state: string) => tokens.filter((token) => tokenState(token, nowMs) === state).length
  const summary = pairs(
    [
      ['id', printable(customer.id)],
      ['email', printable(customer.email)],
      ['name', printable(customer.name ?? '-')],
      [
        'state',
        customer.disabledAtMs === null ? 'active' : `disabled ${printableTime(customer.disabledAtMs)}`,
      ],
      ['created', printableTime(customer.createdAtMs)],
      ['tokens', `${active.length} active, ${count('revoked')} revoked, ${count('expired')} expired`],
    ],
    maxWidth,
  )
  return active.length === 0 ? summary : `${summary}\n${tokenTable(active, maxWidth)}`
}

/** Returns the same report as one JSON document. */
export function customerDocument(
  customer: Customer,
  tokens: readonly LoginToken[],
  { nowMs }: Shown,
): string {
  const inState = (state: string) => tokens.filter((token) => tokenState(token, nowMs) === state)
  return toJsonDocument({
    customer: customerFields(customer),
    tokens: inState('active').map((token) => tokenFields(token, nowMs)),
    counts: {
      active: inState('active').length,
      revoked: inState('revoked').length,
      expired: inState('expired').length,
    },
  })
}

function tokenTable(tokens: readonly LoginToken[], maxWidth: number): string {
  return createTable(
    ['ID', 'CREATED', 'EXPIRES', 'NAME', 'ABILITIES'],
    maxWidth,
  )(
    tokens.map((token) => [
      printable(token.id),
      printableTime(token.createdAtMs),
      token.expiresAtMs === null ? 'never' : printableTime(token.expiresAtMs),
      printable(token.name),
      printable(token.abilities.join(' ')),
    ]),
  )
}
