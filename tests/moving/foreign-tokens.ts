import { createHash, randomBytes } from 'node:crypto'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
/** The forms of tokens, as `FOREIGN_TOKENS` names them. */
export const FORMS = ['sanctum', 'adonis', 'drf', 'better-auth'] as const
export type Form = (typeof FORMS)[number]

/** A token as its system issues it: what a client sends, and the row of its table. */
export interface Issued {
  readonly authorization: string
  readonly row: Readonly<Record<string, unknown>>
}

let ids = 0
const NEW = '2026-03-01 10:00:00'
/** Issues a token of a customer; `more` replaces columns of its row. */
export const ISSUE: Readonly<Record<Form, (email: string, more?: object) => Issued>> = {
  sanctum(email, more = {}) {
    const secret = `${randomBytes(20).toString('hex')}deadbeef`
    const id = ++ids
    return {
      authorization: `Bearer ${id}|${secret}`,
      row: {
        id,
        tokenable_type: 'App\\Models\\User',
        tokenable_id: 1,
        name: 'phone',
        token: sha256(secret),
        abilities: '["orders:read"]',
        last_used_at: null,
        expires_at: null,
        created_at: NEW,
        email,
        ...more,
      },
    }
  },
  adonis(email, more = {}) {
    const secret = randomBytes(30).toString('base64url')
    const id = ++ids
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    return {
      authorization: `Bearer oat_${encode(String(id))}.${encode(secret)}`,
      row: {
        id,
        type: 'auth_token',
        name: null,
        hash: sha256(secret),
        abilities: '["*"]',
        created_at: 1772359200000,
        email,
        ...more,
      },
    }
  },
  drf(email, more = {}) {
    const key = randomBytes(20).toString('hex')
    return {
      authorization: `Token ${key}`,
      row: { key, created: '2026-03-01 10:00:00.123456+00:00', user_id: 1, email, ...more },
    }
  },
  'better-auth'(email, more = {}) {
    const key = Array.from(
      randomBytes(64),
      (byte) => 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[byte % 52],
    ).join('')
    const row = {
      key: createHash('sha256').update(key).digest('base64url'),
      name: 'ci',
      referenceId: '1',
      enabled: true,
      remaining: null,
      permissions: '{"orders":["read"]}',
      createdAt: '2026-03-01T10:00:00.000Z',
      expiresAt: null,
      email,
      ...more,
    }
    return { authorization: `Bearer ${key}`, row }
  },
}

/** The options that `token import` needs for a system. */
export const OPTIONS: Readonly<Record<Form, readonly string[]>> = {
  sanctum: ['--tokenable-type', 'App\\Models\\User', '--expires-after', 'never'],
  adonis: [],
  drf: [],
  'better-auth': [],
}

/** Other presentations of a token: its secret alone, in other forms, and with another ID. */
export function otherForms(authorization: string): readonly string[] {
  const [scheme = '', text = ''] = authorization.split(' ')
  const sanctum = /^(\d+)\|(.*)$/.exec(text)
  if (sanctum !== null) {
    const [, id, secret = ''] = sanctum
    return [
      `Bearer ${secret}`,
      `Bearer ${Number(id) + 1}|${secret}`,
      `Bearer 0${id}|${secret}`,
      `Token ${secret.slice(0, 40)}`,
    ]
  }
  const adonis = /^oat_(.*)\.(.*)$/.exec(text)
  if (adonis !== null) {
    const decode = (part = '') => Buffer.from(part, 'base64url').toString()
    const [, id, secret] = adonis
    const other = Buffer.from(String(Number(decode(id)) + 1)).toString('base64url')
    return [
      `Bearer ${decode(secret)}`,
      `Bearer oat_${other}.${secret}`,
      `Bearer ${decode(id)}|${decode(secret)}`,
      `Bearer oat_${id}=.${secret}`,
    ]
  }
  if (scheme === 'Token')
    return [`Bearer ${text}`, `Bearer Token ${text}`, `Token ${text.toUpperCase()}A`, `Bearer 1|${text}`]
  return [
    `Token ${text.slice(0, 40)}`,
    `Bearer 1|${text}`,
    `Bearer ${text}=`,
    `Bearer oat_MQ.${Buffer.from(text).toString('base64url')}`,
  ]
}
