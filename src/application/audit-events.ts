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
    meaning: 'a login, or a change of the password, was refused',
    recordedFields: ['customerId'],
    reasons: {
      unknown: 'no customer has the e-mail, so the customer’s id is null',
      disabled: 'the customer is disabled',
      password: 'the password is wrong or was changed during the login, or the customer has no password',
      current_password: 'the current password of a change is wrong',
      sessions: 'the password is right, but the customer has as many sessions as `LOGIN_SESSIONS` allows',
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
    meaning: 'a token was created, or `count` tokens of another system were imported',
    recordedFields: ['customerId', 'tokenId', 'tokenName', 'abilities', 'count'],
    reasons: {},
  },
  'token.revoked': {
    meaning: 'one token was revoked, or `count` tokens of the customer',
    recordedFields: ['service', 'customerId', 'tokenId', 'tokenName', 'count'],
    reasons: {
      replaced: 'by a new login',
      logout: 'by the customer’s logout',
      presented: 'at `/revoke`, by its holder or by the holder of the service token `service`',
      session: 'by the customer, who ended the session or all sessions',
      idle: 'by the service: sessions that were not used for `TOKEN_IDLE_TTL`',
      password_set: 'with the new password',
      disabled: 'with the customer',
      operator:
        'by a command, or by the holder of the service token `service`: one token, those of one name, or all',
      issued_before: 'by a command: the tokens of all customers that were created before a given time',
    },
  },
  'one_time_token.issued': {
    meaning: 'the program created a one-time token of the purpose, such as for the reset of a password',
    recordedFields: ['customerId', 'purpose'],
    reasons: {},
  },
  'one_time_token.used': {
    meaning: 'a one-time token of the purpose was used',
    recordedFields: ['customerId', 'purpose'],
    reasons: {},
  },
  'token.denied': {
    meaning: 'a well-formed token was refused',
    recordedFields: ['customerId', 'tokenId'],
    reasons: {
      unknown:
        'no such token exists: it was made up, deleted with its customer, or issued by another service',
      revoked: 'it was revoked',
      expired: 'it has expired',
      idle: 'it was not used for `TOKEN_IDLE_TTL`',
      one_time:
        'as a one-time token: it is unknown, was used or replaced, has expired, or has another purpose',
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
  'verifier.connected': {
    meaning: 'a verifier opened its connection with the service token `service`',
    recordedFields: ['service'],
    reasons: {},
  },
  'verifier.disconnected': {
    meaning: 'the service disconnected a verifier, whose lease it waits for',
    recordedFields: ['service'],
    reasons: {
      hung: 'it did not acknowledge a revocation in time; it gets no lease for a time',
      slow_reader: 'a mebibyte waited for it',
      malformed: 'it sent a line that is not understood',
      silent: 'it sent nothing for ten seconds',
      revoked: 'its service token was removed',
      draining: 'the process stopped',
    },
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
  'customer.password_set': customerEvent('a customer’s password was set'),
  'customer.password_changed': customerEvent('a customer changed the password'),
  'customer.password_reset': customerEvent('a customer set a new password with a one-time token'),
  'customer.unlocked': {
    meaning: 'an operator made the service forget the failed logins of a customer',
    recordedFields: ['service', 'customerId'],
    reasons: {},
  },
  'customer.viewed': {
    meaning:
      'the holder of the service token `service` looked up a customer; the id is null if there is none',
    recordedFields: ['service', 'customerId'],
    reasons: {},
  },
  'customer.disabled': customerEvent('a customer was disabled'),
  'customer.enabled': customerEvent('a customer was enabled again'),
  'customer.deleted': customerEvent('a customer was deleted with all tokens'),
} as const satisfies Readonly<Record<string, AuditEvent>>

/** Returns an event that records the customer, and needs no reason. */
function customerEvent(meaning: string) {
  return { meaning, recordedFields: ['customerId'], reasons: {} } as const
}

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
