import type { AuditEventName, AuditReason, RecordedField } from '../audit-events.ts'

/** What happened to accounts and tokens, for those who look into it later. */
export interface AuditLog {
  /**
   * Keeps the event before it returns: an answer that tells of it may be sent then, whatever ends the process. Throws
   * `Unavailable` where it cannot: no answer may tell of it.
   */
  record<Name extends AuditEventName>(event: Name, fields: AuditFields<Name>): void
}

/** What an event tells; what is not known, or not so, is left out. Commands have no request and no address. */
export type AuditFields<Name extends AuditEventName> = {
  readonly request_id?: string
  readonly address?: string
} & { readonly [Field in RecordedField<Name>]?: Telling[Field] } & ([AuditReason<Name>] extends [never]
    ? unknown
    : { readonly reason: AuditReason<Name> })

/** What events may tell: ids, names and numbers, never a secret, and no e-mail. */
interface Telling {
  /** The name of the service token that asked. */
  readonly service: string
  /** Null where the account is of no customer. */
  readonly customer_id: string | null
  readonly token_id: string
  readonly token_name: string
  readonly abilities: readonly string[]
  readonly count: number
  /** Their names. */
  readonly service_tokens: readonly string[]
}
