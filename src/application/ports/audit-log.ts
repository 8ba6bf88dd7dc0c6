import type { AuditEventName, AuditReason, RecordedField } from '../audit-events.ts'

/** Records what happened to accounts and tokens, for a later investigation. */
export interface AuditLog {
  /**
   * Writes the event before it returns, so that the response can follow even if the process then stops. Throws
   * `Unavailable` when it cannot write: the caller then must not report success. Synchronous, without a timeout.
   */
  record<Name extends AuditEventName>(event: Name, fields: AuditFields<Name>): void
}

/** Who ran a command. */
export interface CommandActor {
  /** The name of the account of the operating system, or its number if it has none. */
  readonly osUser: string
  /** The account that has called `sudo`, as `sudo` reports it; left out without `sudo`. */
  readonly sudoUser?: string
  /** The name of the machine. */
  readonly host: string
  /** The words of the command without its arguments, such as `customer disable`. */
  readonly command: string
}

/**
 * The fields of an event. A field is left out when it is unknown or does not apply. Events of requests have `requestId`
 * and `address`; events of commands have those of `CommandActor`.
 */
export type AuditFields<Name extends AuditEventName> = Partial<CommandActor> & {
  readonly requestId?: string
  readonly address?: string
} & { readonly [Field in RecordedField<Name>]?: FieldTypes[Field] } & ([AuditReason<Name>] extends [never]
    ? unknown
    : { readonly reason: AuditReason<Name> })

/** What events may contain: ids, names and numbers, never a secret or an e-mail. */
interface FieldTypes {
  /** The name of the service token that made the request. */
  readonly service: string
  /** Null when no customer has the account. */
  readonly customerId: string | null
  readonly tokenId: string
  readonly tokenName: string
  /** Of a one-time token. */
  readonly purpose: string
  readonly abilities: readonly string[]
  /** The name of the events that are counted. */
  readonly deniedEvent: AuditEventName
  /** The number of customers, tokens or events that the event concerns. */
  readonly count: number
  /** The names of the service tokens. */
  readonly serviceTokens: readonly string[]
}
