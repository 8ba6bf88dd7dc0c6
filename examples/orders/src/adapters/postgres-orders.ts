import type { DatabasePool, Row, Statement } from 'latchkey/adapters/postgres'
import type { Order } from '../order.ts'
import type { Orders } from '../orders.ts'

/** Creates the store on the table `orders` of a PostgreSQL database. Each method is one statement, without a transaction. */
export function postgresOrders(pool: DatabasePool): Orders {
  return {
    async add({ id, customerId, sku, quantity, note, placedAtMs }, timeoutMs) {
      await query(ADD, [id, customerId, sku, quantity, note, new Date(placedAtMs)], timeoutMs)
    },

    async find({ id, customerId }, timeoutMs) {
      return toFirstOrder(await query(FIND, [id, customerId], timeoutMs))
    },

    async list(customerId, { after, limit }, timeoutMs) {
      const from = after === null ? [] : [new Date(after.placedAtMs), after.id]
      const rows = await query(after === null ? LIST : LIST_AFTER, [customerId, limit, ...from], timeoutMs)
      return rows.map(toOrder)
    },

    async change({ id, customerId }, { quantity = null, note }, timeoutMs) {
      return toFirstOrder(
        await query(CHANGE, [id, customerId, quantity, note !== undefined, note ?? null], timeoutMs),
      )
    },

    async remove({ id, customerId }, timeoutMs) {
      return (await query(REMOVE, [id, customerId], timeoutMs)).length === 1
    },
  }

  function query(
    statement: Statement,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<readonly Row[]> {
    return pool.run(timeoutMs, async (session) => (await session.query(statement, values)).rows)
  }
}

const COLUMNS = `id, customer_id, sku, quantity, note, date_part('epoch', placed_at) * 1000 as placed_at_ms`

const ADD = {
  name: 'add_order',
  text: 'insert into orders (id, customer_id, sku, quantity, note, placed_at) values ($1, $2, $3, $4, $5, $6)',
}

const FIND = { name: 'find_order', text: `select ${COLUMNS} from orders where id = $1 and customer_id = $2` }

const LIST = {
  name: 'list_orders',
  text: `select ${COLUMNS} from orders where customer_id = $1 order by placed_at desc, id desc limit $2`,
}

const LIST_AFTER = {
  name: 'list_orders_after',
  text: `select ${COLUMNS} from orders where customer_id = $1 and (placed_at, id) < ($3, $4::uuid)
    order by placed_at desc, id desc limit $2`,
}

// One statement, so that concurrent changes of different fields are both applied.
const CHANGE = {
  name: 'change_order',
  text: `update orders set quantity = coalesce($3, quantity), note = case when $4 then $5 else note end
    where id = $1 and customer_id = $2 returning ${COLUMNS}`,
}

const REMOVE = {
  name: 'remove_order',
  text: 'delete from orders where id = $1 and customer_id = $2 returning id',
}

function toFirstOrder([row]: readonly Row[]): Order | null {
  return row === undefined ? null : toOrder(row)
}

function toOrder(row: Row): Order {
  return {
    id: row.id as string,
    customerId: row.customer_id as string,
    sku: row.sku as string,
    quantity: row.quantity as number,
    note: row.note as string | null,
    placedAtMs: Math.round(row.placed_at_ms as number),
  }
}
