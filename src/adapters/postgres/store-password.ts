import type { PasswordChange, PasswordReset } from '../../application/ports/customers.ts'
import type { Session, Statement } from './connection/session.ts'
import { toBytes, toDate } from './rows.ts'
import { LOCK_CUSTOMER } from './store-login.ts'

/** Sets the password hash of a customer. */
export const SET_PASSWORD_HASH = {
  name: 'set_password_hash',
  text: 'update customers set password_hash = $2, updated_at = now() where id = $1',
}

const LOCK_TOKEN = {
  name: 'lock_token_to_keep',
  text: 'select id from login_tokens where id = $1 and customer_id = $2 and revoked_at is null for no key update',
}

const USE_ONE_TIME_TOKEN = {
  name: 'use_one_time_token_of_customer',
  text: `
    delete from one_time_tokens
     where customer_id = $1 and purpose = $2 and token_hash = $3 and expires_at > $4`,
}

const REVOKE_OTHERS = {
  name: 'revoke_other_tokens_of_customer',
  text: `
    with ended as (delete from one_time_tokens where customer_id = $1)
    update login_tokens set revoked_at = $2 where customer_id = $1 and id <> $3 and revoked_at is null`,
}

const REVOKE_ALL = {
  name: 'revoke_tokens_of_customer',
  text: `
    with ended as (delete from one_time_tokens where customer_id = $1)
    update login_tokens set revoked_at = $2 where customer_id = $1 and revoked_at is null`,
}

/**
 * Changes the customer's row and revokes the customer's tokens. Returns their number, or null when no customer has the id. The
 * change locks the row, as a login does: a login that commits first is revoked here, and a later one sees the change.
 */
export async function changeAndRevoke(
  session: Session,
  change: Statement,
  id: string,
  value: unknown,
  atMs: number,
): Promise<number | null> {
  return session.transaction(async () => {
    const { count } = await session.query(change, [id, value])
    return count === 0 ? null : (await session.query(REVOKE_ALL, [id, toDate(atMs)])).count
  })
}

/**
 * Sets the password hash, as `Customers.changePassword` describes it. The customer's row is locked first, as in a login. The token
 * stays locked, so that no logout of it commits meanwhile.
 */
export async function changePassword(
  session: Session,
  { customerId, verifiedHash, passwordHash, keepTokenId, atMs }: PasswordChange,
): Promise<number | null> {
  return session.transaction(async () => {
    const [owner] = (await session.query(LOCK_CUSTOMER, [customerId])).rows
    if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
    if ((await session.query(LOCK_TOKEN, [keepTokenId, customerId])).rows.length === 0) return null
    await session.query(SET_PASSWORD_HASH, [customerId, passwordHash])
    return (await session.query(REVOKE_OTHERS, [customerId, toDate(atMs), keepTokenId])).count
  })
}

/**
 * Sets the password hash, as `Customers.resetPassword` describes it. The customer's row is locked first: when it waits for a change
 * of the password, the delete sees that the one-time token is gone.
 */
export async function resetPassword(
  session: Session,
  { customerId, purpose, digest, passwordHash, atMs }: PasswordReset,
): Promise<number | null> {
  return session.transaction(async () => {
    const [owner] = (await session.query(LOCK_CUSTOMER, [customerId])).rows
    if (owner === undefined || owner.disabled_at !== null) return null
    const used = await session.query(USE_ONE_TIME_TOKEN, [customerId, purpose, toBytes(digest), toDate(atMs)])
    if (used.count === 0) return null
    await session.query(SET_PASSWORD_HASH, [customerId, passwordHash])
    return (await session.query(REVOKE_ALL, [customerId, toDate(atMs)])).count
  })
}
