/**
 * The table of the audit events: the meaning of each, the fields that it records besides the request's id and address,
 * and its reasons. Types, audit lines and documentation are derived from it. Names are never changed.
 */
export const AUDIT_EVENTS = {
  'login.succeeded': {
    meaning: 'a customer logged in',
    recordedFields: ['customerId', 'tokenId'],
    reasons: {},
  },
  'login.failed': {
    meaning: 'a login was refused',
    recordedFields: ['customerId'],
    reasons: {
      unknown: 'no customer has the e-mail, so the customer’s id is null',
      disabled: 'the customer is disabled',
      password: 'the password is wrong or was changed during the login, or the customer has no password',
    },
  },
  'login.throttled': {
    meaning: 'a login was refused without verifying the password, after too many failed logins',
    recordedFields: [],
    reasons: {
      account: 'too many failures for the account from this address',
      address: 'too many failures from this address',
      guesses: 'too many failures of the account from addresses where it has not logged in',
    },
  },
  'token.issued': {
    meaning: 'a token was created',
    recordedFields: ['customerId', 'tokenId', 'tokenName', 'abilities'],
    reasons: {},
  },
  'token.revoked': {
    meaning: 'one token was revoked, or `count` tokens of the customer',
    recordedFields: ['service', 'customerId', 'tokenId', 'tokenName', 'count'],
    reasons: {
      replaced: 'by a new login',
      logout: 'by the customer’s logout',
      password_set: 'with the new password',
      disabled: 'with the customer',
      operator:
        'by a command, or by the holder of the service token `service`: one token, those of one name, or all',
      issued_before: 'by a command: the tokens of all customers that were created before a given time',
    },
  },
  'token.denied': {
    meaning: 'a well-formed token was refused',
    recordedFields: ['customerId', 'tokenId'],
    reasons: {
      unknown:
        'no such token exists: it was made up, deleted with its customer, or issued by another service',
      revoked: 'it was revoked',
      expired: 'it has expired',
      disabled: 'its customer is disabled',
      insufficient_scope: 'it is valid, but lacks an ability that the route requires',
    },
  },
  'service.denied': {
    meaning:
      'a service route was called without a configured service token, or without a scope that it requires',
    recordedFields: ['service'],
    reasons: {
      missing: 'no bearer token was presented',
      unknown: 'the token is not one of the configured service tokens',
      insufficient_scope: 'the service token `service` is valid, but lacks a scope that the route requires',
    },
  },
  'denials.left_out': {
    meaning: '`count` more events `denied_event` of one second, of the address, or else of many',
    recordedFields: ['deniedEvent', 'count'],
    reasons: {},
  },
  'service.tokens_set': {
    meaning: 'the service tokens were reloaded; only these are accepted from now on',
    recordedFields: ['serviceTokens'],
    reasons: {},
  },
  'customer.added': {
    meaning: 'a customer was created, or an import created `count` customers',
    recordedFields: ['customerId', 'count'],
    reasons: {},
  },
  'customer.password_set': {
    meaning: 'a customer’s password was set',
    recordedFields: ['customerId'],
    reasons: {},
  },
  'customer.disabled': {
    meaning: 'a customer was disabled',
    recordedFields: ['customerId'],
    reasons: {},
  },
  'customer.enabled': {
    meaning: 'a customer was enabled again',
    recordedFields: ['customerId'],
    reasons: {},
  },
  'customer.deleted': {
    meaning: 'a customer was deleted with all tokens',
    recordedFields: ['customerId'],
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

/** The events that any client can cause without a valid token or password. */
const DENIALS: readonly AuditEventName[] = [
  'login.failed',
  'login.throttled',
  'token.denied',
  'service.denied',
  'denials.left_out',
]

/** Whether the event is a denial. Only denials may be aggregated. */
export function isDenial(event: AuditEventName): boolean {
  return DENIALS.includes(event)
}

/** The names of the fields that an event records. */
export type RecordedField<Name extends AuditEventName> = Events[Name]['recordedFields'][number]

/** The reasons of an event; `never` for most events. */
export type AuditReason<Name extends AuditEventName> = keyof Events[Name]['reasons']
