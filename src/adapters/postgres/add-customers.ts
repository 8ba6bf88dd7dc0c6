import type { CustomerCredentials } from '../../application/ports/customers.ts'
import type { Session } from './connection/session.ts'
import { toDate } from './rows.ts'

const ADD = {
  name: 'add_customer',
  text: `
    insert into customers (id, email, name, password_hash, created_at, disabled_at)
    values ($1, $2, $3, $4, $5, $6)
        on conflict (lower(email collate "C")) do nothing`,
}

// Always in the same order, so that parallel imports wait for each other without a deadlock.
const ADD_MANY = {
  name: 'add_customers',
  text: `
    insert into customers (id, email, name, password_hash, created_at, disabled_at)
    select id, email, name, password_hash, created_at, disabled_at
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[])
           with ordinality as new (id, email, name, password_hash, created_at, disabled_at, place)
     order by lower(email collate "C"), place
        on conflict (lower(email collate "C")) do nothing
    returning id`,
}

/** Adds a customer; returns false when a customer has the e-mail. */
export async function addCustomer(
  session: Session,
  { customer: { id, email, name, createdAtMs, disabledAtMs }, passwordHash }: CustomerCredentials,
): Promise<boolean> {
  const values = [id, email, name, passwordHash, toDate(createdAtMs), toDate(disabledAtMs)]
  return (await session.query(ADD, values)).count === 1
}

/** Adds the customers whose e-mail no customer has; returns for each whether it was added. */
export async function addCustomers(
  session: Session,
  credentials: readonly CustomerCredentials[],
): Promise<readonly boolean[]> {
  const customers = credentials.map(({ customer }) => customer)
  const { rows } = await session.query(ADD_MANY, [
    customers.map(({ id }) => id),
    customers.map(({ email }) => email),
    customers.map(({ name }) => name),
    credentials.map(({ passwordHash }) => passwordHash),
    customers.map(({ createdAtMs }) => toDate(createdAtMs)),
    customers.map(({ disabledAtMs }) => toDate(disabledAtMs)),
  ])
  const stored = new Set(rows.map(({ id }) => id))
  return customers.map(({ id }) => stored.has(id))
}
