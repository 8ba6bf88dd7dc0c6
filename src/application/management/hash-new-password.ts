import { ValidationFailed } from '../../domain/errors.ts'
import { isWholePasswordHash, newPasswordProblem } from '../../domain/password.ts'
import type { Ports } from '../ports/ports.ts'
import { requireValid } from './require-valid.ts'

/** A password in clear text, or a whole hash from another system. */
export type NewPassword = { readonly password: string } | { readonly passwordHash: string }

/** Returns the hash to store. Throws `ValidationFailed` for an invalid or common password, or an invalid hash. */
export async function hashNewPassword(
  { passwords, blocklist }: Pick<Ports, 'passwords' | 'blocklist'>,
  password: NewPassword,
): Promise<string> {
  if ('password' in password) {
    requireValid('password', newPasswordProblem(password.password))
    if (await blocklist.has(password.password))
      throw new ValidationFailed({ password: ['Too common. Choose another password.'] })
    return passwords.hash(password.password)
  }
  if (!isWholePasswordHash(password.passwordHash))
    throw new ValidationFailed({ password_hash: ['Must be a whole bcrypt hash.'] })
  return password.passwordHash
}
