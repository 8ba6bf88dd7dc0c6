import { createHash } from 'node:crypto'
import { FOREIGN_FORMS } from '../../../domain/foreign-token.ts'
import { flag, hexDigest, jsonValue, optionalText, requiredText, time, WrongField, words } from './fields.ts'
import type { TokenRecord } from './records.ts'
import { foreign, row, type System, skip, unlessExpired } from './system.ts'

const EVERYTHING = ['*']

/** Laravel Sanctum: the table `personal_access_tokens`. */
const sanctum: System = {
  form: 'sanctum',
  columns: ['id', 'tokenable_type', 'email', 'token', 'created_at'],
  read(record, { tokenableType, expiresAfterMs = null, nowMs }) {
    const token = foreign('sanctum', requiredText(record, 'id'), hexDigest(record, 'token'))
    if (requiredText(record, 'tokenabletype') !== tokenableType) return skip(record, 'other_type', token)
    const createdAtMs = time(record, 'createdat')
    if (createdAtMs === null && expiresAfterMs !== null)
      throw new WrongField('created_at: Must not be empty.')
    const computed = createdAtMs === null || expiresAfterMs === null ? null : createdAtMs + expiresAfterMs
    const stored = time(record, 'expiresat')
    const expiresAtMs =
      computed === null || stored === null ? (computed ?? stored) : Math.min(computed, stored)
    return unlessExpired(record, nowMs, {
      ...row(record, token, 'sanctum'),
      abilities: words(record, 'abilities'),
      createdAtMs,
      expiresAtMs,
    })
  },
}

/** AdonisJS: the table `auth_access_tokens`. */
const adonis: System = {
  form: 'adonis',
  columns: ['id', 'email', 'hash', 'abilities'],
  read(record, { nowMs }) {
    const token = foreign('adonis', requiredText(record, 'id'), hexDigest(record, 'hash'))
    if ((optionalText(record, 'type') ?? 'auth_token') !== 'auth_token')
      return skip(record, 'other_type', token)
    return unlessExpired(record, nowMs, {
      ...row(record, token, 'adonis'),
      abilities: words(record, 'abilities'),
    })
  },
}

/** Django REST framework: the table `authtoken_token`, which contains the keys themselves. */
const drf: System = {
  form: 'drf',
  columns: ['key', 'email'],
  read(record) {
    const key = requiredText(record, 'key')
    if (/^[0-9a-f]{128}$/i.test(key))
      throw new WrongField('key: Is a SHA-512, as of knox, which cannot be imported.')
    if (!/^[0-9a-f]{40}$/.test(key)) throw new WrongField('key: Must be 40 hexadecimal digits.')
    const token = foreign('drf', null, createHash('sha256').update(key).digest('hex'))
    return { ...row(record, token, 'drf'), abilities: EVERYTHING, createdAtMs: time(record, 'created') }
  },
}

/** The release of better-auth 1.4.0, the first one whose keys come from a cryptographic source. */
const WEAK_BEFORE_MS = Date.UTC(2025, 10, 22)

/** better-auth: the table `apikey`. */
const betterAuth: System = {
  form: 'better-auth',
  columns: ['email', 'key'],
  read(record, { acceptWeakKeys = false, nowMs }) {
    const key = requiredText(record, 'key')
    const bytes = Buffer.from(key, 'base64url')
    if (bytes.length !== 32 || bytes.toString('base64url') !== key)
      throw new WrongField(
        'key: Is not a SHA-256 in base64url. Keys that are stored in plaintext cannot be imported.',
      )
    const token = foreign('better-auth', null, bytes.toString('hex'))
    if (!flag(record, 'enabled', true)) return skip(record, 'disabled')
    const remaining = optionalText(record, 'remaining')
    if (remaining !== null && Number(remaining) <= 0) return skip(record, 'exhausted')
    if (remaining !== null)
      throw new WrongField(
        'remaining: A number of uses cannot be imported. Set it to null, or issue a new key.',
      )
    const createdAtMs = time(record, 'createdat')
    // Versions before 1.5 have no such column, and nothing else shows that a key is of 1.4.
    const isWeak = !record.fields.has('referenceid') || createdAtMs === null || createdAtMs < WEAK_BEFORE_MS
    if (isWeak && !acceptWeakKeys)
      throw new WrongField(
        'key: May be of a better-auth before 1.4, whose keys can be predicted. Issue a new key, or add --accept-weak-keys.',
      )
    return unlessExpired(record, nowMs, {
      ...row(record, token, 'better-auth'),
      abilities: permissions(record),
    })
  },
}

/** A file in Latchkey's own format. */
const csv: System = {
  form: null,
  columns: ['email', 'form', 'external_id', 'digest', 'name', 'abilities', 'expires_at', 'last_used_at'],
  read(record, { nowMs }) {
    const named = optionalText(record, 'form') ?? 'latchkey'
    const form = FOREIGN_FORMS.find((one) => one === named) ?? null
    if (form === null && named !== 'latchkey')
      throw new WrongField(`form: Must be latchkey or one of ${FOREIGN_FORMS.join(', ')}.`)
    const externalId = optionalText(record, 'externalid')
    const needsId = form === 'sanctum' || form === 'adonis'
    if (needsId !== (externalId !== null))
      throw new WrongField(`external_id: Must ${needsId ? 'not ' : ''}be empty for this form.`)
    const listed = optionalText(record, 'abilities') ?? ''
    return unlessExpired(record, nowMs, {
      ...row(record, { form: form ?? 'drf', externalId, digest: hexDigest(record, 'digest') }, named),
      form,
      abilities: listed.startsWith('[')
        ? words(record, 'abilities')
        : listed.split(' ').filter((word) => word !== ''),
    })
  },
}

/** The systems by the value of `--from`. */
export const SYSTEMS: Readonly<Record<string, System>> = {
  sanctum,
  adonis,
  drf,
  'better-auth': betterAuth,
  csv,
}

/** Permissions of better-auth are lists of actions by resource. A key without any is granted nothing that needs one. */
function permissions(record: TokenRecord): readonly string[] {
  const value = jsonValue(record.fields.get('permissions') ?? null, 'permissions')
  if (value === null) return []
  if (typeof value !== 'object' || Array.isArray(value))
    throw new WrongField('permissions: Must be a JSON object.')
  return Object.entries(value as object).flatMap(([resource, actions]) => {
    if (!Array.isArray(actions) || !actions.every((action) => typeof action === 'string'))
      throw new WrongField('permissions: Must hold lists of actions.')
    return actions.map((action) => `${resource}:${action}`)
  })
}
