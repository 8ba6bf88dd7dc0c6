import type { MemoryStore } from '../../../src/adapters/memory/store.ts'

/** Lower than the limit of the triggers, so that small changes reach it. */
const MOST_NAMED = 3

/** Returns the payloads that the triggers would publish for a change. One trigger saw the tokens at an earlier time. */
export function payloadsForChange(
  was: MemoryStore,
  became: MemoryStore,
  seen: MemoryStore,
  customersAsDigests: boolean,
): readonly string[] {
  const customers = changedCustomers(was, became)
  const theirs = [...seen.tokens].filter(([, token]) => customers.includes(token.customerId))
  const announcedCustomers = customersAsDigests
    ? sentence(
        'digests',
        theirs.map(([digest]) => digest),
      )
    : sentence('customers', customers)
  return [...announcedCustomers, ...sentence('digests', endedTokens(was, became))]
}

function changedCustomers(was: MemoryStore, became: MemoryStore): readonly string[] {
  return [...was.customers.values()]
    .map(({ customer }) => customer)
    .filter(({ id, disabledAtMs, email, name }) => {
      const now = became.customers.get(id)?.customer
      return now?.disabledAtMs !== disabledAtMs || now.email !== email || now.name !== name
    })
    .map(({ id }) => id)
}

function endedTokens(was: MemoryStore, became: MemoryStore): readonly string[] {
  return [...was.tokens]
    .filter(([digest, token]) => token.revokedAtMs === null && became.tokens.get(digest) !== token)
    .map(([digest]) => digest)
}

function sentence(kind: string, changed: readonly string[]): readonly string[] {
  if (changed.length === 0) return []
  return changed.length > MOST_NAMED ? ['1 forget'] : [`1 ${kind} ${changed.join(' ')}`]
}
