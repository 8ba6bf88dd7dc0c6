/**
 * Every event of the audit log: what it means, what it tells beside the request's id and address, and its reasons. Types,
 * lines and documentation follow this table; names are never changed.
 */
export const AUDIT_EVENTS = {
  'login.succeeded': {
    meaning: 'a customer logged in',
    recordedFields: ['customer_id', 'token_id'],
    reasons: {},
  },
  'login.failed': {
    meaning: 'a login was refused',
    recordedFields: ['customer_id'],
    reasons: {
      unknown: 'the e-mail is no customer’s, and `customer_id` is null',
      disabled: 'the customer is disabled, whatever the password',
      password: 'the password was wrong or changed meanwhile, or the customer has none that could be right',
    },
  },
  'login.throttled': {
    meaning: 'a login was refused unseen, since too many failed before it',
    recordedFields: [],
    reasons: {
      account: 'for the account from this address',
      address: 'from this address',
      guesses: 'for the account, from whatever addresses',
    },
  },
  'token.issued': {
    meaning: 'a token was made',
    recordedFields: ['customer_id', 'token_id', 'token_name', 'abilities'],
    reasons: {},
  },
  'token.revoked': {
    meaning: 'tokens were revoked: the one that is named, or `count` of the customer’s',
    recordedFields: ['service', 'customer_id', 'token_id', 'token_name', 'count'],
    reasons: {
      replaced: 'by a new login',
      logout: 'by the customer’s logout',
      password_set: 'with the new password',
      disabled: 'with the customer',
      operator:
        'by a command, or by who holds the service token `service`: the customer’s of one name, one, or all',
      issued_before: 'by a command: all customers’ that were made before a moment',
    },
  },
  'token.denied': {
    meaning: 'a well-formed token was refused',
    recordedFields: ['customer_id', 'token_id'],
    reasons: {
      unknown: 'nobody has it: invented, deleted with its customer, or of another service',
      revoked: 'it was revoked',
      expired: 'its time is over',
      disabled: 'its customer is disabled',
      insufficient_scope: 'it is good, and lacks an ability that the route requires',
    },
  },
  'service.denied': {
    meaning: 'a service route was called without a configured service token',
    recordedFields: [],
    reasons: {
      missing: 'no bearer token was presented',
      unknown: 'it is none of those that are configured',
    },
  },
  'service.tokens_set': {
    meaning: 'the service tokens were read again; these are accepted from then on',
    recordedFields: ['service_tokens'],
    reasons: {},
  },
  'customer.added': {
    meaning: 'a customer was made, or `count` of them by an import',
    recordedFields: ['customer_id', 'count'],
    reasons: {},
  },
  'customer.password_set': {
    meaning: 'a customer was given a password',
    recordedFields: ['customer_id'],
    reasons: {},
  },
  'customer.disabled': {
    meaning: 'a customer was disabled',
    recordedFields: ['customer_id'],
    reasons: {},
  },
  'customer.enabled': {
    meaning: 'a customer was enabled again',
    recordedFields: ['customer_id'],
    reasons: {},
  },
  'customer.deleted': {
    meaning: 'a customer was deleted, with all tokens',
    recordedFields: ['customer_id'],
    reasons: {},
  },
} as const satisfies Readonly<Record<string, AuditEvent>>

interface AuditEvent {
  readonly meaning: string
  readonly recordedFields: readonly string[]
  readonly reasons: Readonly<Record<string, string>>
}

type Events = typeof AUDIT_EVENTS

export type AuditEventName = keyof Events

/** What an event tells of its occasion. */
export type RecordedField<Name extends AuditEventName> = Events[Name]['recordedFields'][number]

/** The words of an event's reasons; none for most. */
export type AuditReason<Name extends AuditEventName> = keyof Events[Name]['reasons']
