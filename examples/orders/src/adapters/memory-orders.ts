import { applyChange, newestFirst, type Order } from '../order.ts'
import type { OrderKey, Orders } from '../orders.ts'

/** Creates a store in memory, for tests. */
export function memoryOrders(): Orders {
  const orders = new Map<string, Order>()
  return {
    async add(order) {
      if (orders.has(order.id)) throw new Error('An order with this id exists.')
      orders.set(order.id, Object.freeze({ ...order }))
    },

    async find(key) {
      return owned(key)
    },

    async list(customerId, { after, limit }) {
      return [...orders.values()]
        .filter((order) => order.customerId === customerId)
        .filter((order) => after === null || newestFirst(after, order) < 0)
        .sort(newestFirst)
        .slice(0, limit)
    },

    async change(key, change) {
      const found = owned(key)
      if (found === null) return null
      const order = Object.freeze(applyChange(found, change))
      orders.set(order.id, order)
      return order
    },

    async remove(key) {
      return owned(key) !== null && orders.delete(key.id)
    },
  }

  function owned({ id, customerId }: OrderKey): Order | null {
    const found = orders.get(id)
    return found?.customerId === customerId ? found : null
  }
}
