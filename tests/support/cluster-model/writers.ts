import { revokeTokens } from '../../../src/adapters/memory/store.ts'
import type { Clients } from './clients.ts'
import type { Database } from './database.ts'
import type { History, Known } from './history.ts'
import type { Network } from './network.ts'
import { type Run, START_MS } from './run.ts'

/** Other programs that change the database. Only the triggers publish their changes. */
export interface Writers {
  revoke(tokens: readonly Known[]): void
  disable(customerId: string): void
  /**
   * Disables a customer in a transaction whose trigger runs before another client adds a token to the customer, and
   * that commits after it.
   */
  disableSlowly(customerId: string): void
  delete(customerId: string): void
  /** Restores the tables from an older backup in one transaction. No trigger fires. */
  restore(tokens: readonly Known[]): void
  rename(customerId: string): void
}

export function createWriters(
  { time, chance }: Run,
  { known }: History,
  { store, customers, change, snapshot, addToken }: Database,
  { triggers }: Network,
  { validateEverywhere, validateASecondLater }: Clients,
): Writers {
  return {
    revoke: (tokens) =>
      commit(async () =>
        revokeTokens(store, ({ id }) => tokens.some(({ token }) => token.id === id), START_MS + time.nowMs),
      ),
    disable: (customerId) => commit(() => setCustomer(customerId, { disabledAtMs: START_MS + time.nowMs })),
    disableSlowly,
    delete: (customerId) => commit(() => customers.delete(customerId, 1000)),
    restore,
    rename: (customerId) => commit(() => setCustomer(customerId, { name: `name at ${time.nowMs}` })),
  }

  function commit(make: () => Promise<unknown>): void {
    validateEverywhere(known.slice(-2))
    time.after(chance.travelling(), () => {
      void change(make)
      validateASecondLater()
    })
  }

  function disableSlowly(customerId: string): void {
    time.after(chance.shortly(), () => {
      const seen = snapshot()
      const afterMs = 5 + chance.travelling()
      time.after(chance.shortly(), () => {
        if (store.customers.get(customerId)?.customer.disabledAtMs !== null) return
        void addToken(customerId, 'bot').then(() => validateEverywhere(known.slice(-1)))
      })
      time.after(afterMs, () => {
        void change(() => setCustomer(customerId, { disabledAtMs: START_MS + time.nowMs }), seen)
        validateASecondLater()
      })
    })
  }

  function restore(tokens: readonly Known[]): void {
    validateEverywhere(tokens)
    time.after(chance.travelling(), () => {
      const { isEnabled, version } = triggers
      Object.assign(triggers, { isEnabled: false, version: version + 1 })
      void change(async () => {
        for (const { digest } of tokens) store.tokens.delete(digest)
      })
      Object.assign(triggers, { isEnabled })
      validateASecondLater()
    })
  }

  async function setCustomer(
    id: string,
    difference: { readonly disabledAtMs?: number; readonly name?: string },
  ): Promise<void> {
    const found = store.customers.get(id)
    if (found === undefined) return
    store.customers.set(id, { ...found, customer: Object.freeze({ ...found.customer, ...difference }) })
  }
}
