import { Refusal } from './refusal.ts'

/** Returns what a command found for the customer with this e-mail. Throws `Refusal` for null: there is no such customer. */
export function requireCustomer<T>(email: string, found: T | null): T {
  if (found === null) throw new Refusal(`There is no customer ${email}.`)
  return found
}

/** Returns a number of tokens as text, such as `1,000 tokens`. */
export function formatTokenCount(count: number): string {
  return count === 1 ? '1 token' : `${count.toLocaleString('en')} tokens`
}
