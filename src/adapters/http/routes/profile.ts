import * as v from 'valibot'
import type { Profile } from '../../../application/use-cases/me.ts'
import { isoTime, isoTimeOrNull } from '../response/iso-time.ts'

const time = v.pipe(v.string(), v.isoTimestamp())

/** The default response of `me`. A custom response can reuse its `entries`. */
export const profile = v.object({
  customer: v.object({
    id: v.pipe(v.string(), v.uuid()),
    email: v.pipe(v.string(), v.examples(['ana@example.com'])),
    name: v.nullable(v.pipe(v.string(), v.examples(['Ana']))),
    created_at: time,
  }),
  token: v.object({
    name: v.pipe(v.string(), v.examples(['login'])),
    abilities: v.array(v.pipe(v.string(), v.examples(['*']))),
    created_at: time,
    expires_at: v.nullable(time),
  }),
})

/** The fields of a profile in a response. */
export interface ProfileFields {
  readonly customer: {
    readonly id: string
    readonly email: string
    readonly name: string | null
    readonly created_at: string
  }
  readonly token: {
    readonly name: string
    readonly abilities: readonly string[]
    readonly created_at: string
    readonly expires_at: string | null
  }
}

/** Returns the fields of the response, as the schema `profile` declares them. Accepts the caller of a handler, too. */
export function presentProfile({ customer, token }: Profile): ProfileFields {
  return {
    customer: {
      id: customer.id,
      email: customer.email,
      name: customer.name,
      created_at: isoTime(customer.createdAtMs),
    },
    token: {
      name: token.name,
      abilities: token.abilities,
      created_at: isoTime(token.createdAtMs),
      expires_at: isoTimeOrNull(token.expiresAtMs),
    },
  }
}
