import type { Customer } from '../../domain/customer.ts'
import { ValidationFailed } from '../../domain/errors.ts'
import {
  consistsOfWords,
  importedPasswordHash,
  isWholePasswordHash,
  newPasswordProblem,
} from '../../domain/password.ts'
import type { Ports } from '../ports/ports.ts'
import { requireValid } from './require-valid.ts'

/** A password in clear text, or a whole hash from another system. */
export type NewPassword = { readonly password: string } | { readonly passwordHash: string }

/** The rules of new passwords. */
export interface PasswordRules {
  /** The least number of characters of a new password. Default: 8. */
  readonly passwordMinLength?: number
  /** Whether a new password must not consist of words of the customer and the service. Default: true. */
  readonly refusesCommonPasswords?: boolean
  /** The address of the service, whose words a password must not consist of. Default: null, none. */
  readonly publicUrl?: string | null
}

/** Whose password it is: the words of the e-mail and the name are guessed first. Null for no known customer. */
type PasswordOwner = Pick<Customer, 'email' | 'name'> | null

/** Always among the words of the service. */
const PRODUCT = 'latchkey'

/** Throws `ValidationFailed` for an invalid or common password. */
export async function requireNewPassword(
  { blocklist }: Pick<Ports, 'blocklist'>,
  {
    field,
    password,
    customer,
  }: {
    /** The field of the errors. */
    readonly field: string
    readonly password: string
    readonly customer: PasswordOwner
  },
  { passwordMinLength, refusesCommonPasswords = true, publicUrl = null }: PasswordRules,
): Promise<void> {
  requireValid(field, newPasswordProblem(password, passwordMinLength))
  const words = [PRODUCT, publicUrl ?? '', customer?.email ?? '', customer?.name ?? '']
  if (refusesCommonPasswords && consistsOfWords(password, words))
    requireValid(field, 'Must not consist of words of the e-mail, the name or the service.')
  if (await blocklist.has(password)) requireValid(field, 'Too common. Choose another password.')
}

/** Returns the hash to store. Throws `ValidationFailed` for an invalid or common password, or an invalid hash. */
export async function hashNewPassword(
  ports: Pick<Ports, 'passwords' | 'blocklist'>,
  password: NewPassword,
  customer: PasswordOwner,
  rules: PasswordRules,
): Promise<string> {
  if ('password' in password) {
    await requireNewPassword(ports, { field: 'password', password: password.password, customer }, rules)
    return ports.passwords.hash(password.password)
  }
  const passwordHash = importedPasswordHash(password.passwordHash)
  if (!isWholePasswordHash(passwordHash))
    throw new ValidationFailed({ password_hash: ['Must be a whole bcrypt hash.'] })
  return passwordHash
}
