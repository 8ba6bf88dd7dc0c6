import type { CustomerCredentials } from '../ports/customers.ts'
import type { HashingSlot } from '../ports/password-hasher.ts'

/** Returns the stored hash if the password matches it, or null. Takes the same time for a customer who may not log in. */
export async function verifyPassword(
  password: string,
  found: CustomerCredentials | null,
  slot: HashingSlot,
): Promise<string | null> {
  const mayLogIn = found !== null && found.customer.disabledAtMs === null
  const passwordHash = mayLogIn ? found.passwordHash : null
  const isRight = await slot.verify(password, passwordHash)
  // Imported hashes may be of the empty password. It is refused after the verification, for equal time.
  return isRight && password !== '' ? passwordHash : null
}
