/** The parameters that are stored with a hash. */
export interface Parameters {
  readonly memoryCost: number
  readonly timeCost: number
  readonly parallelism: number
}

/** No more than 1 GiB and 99 passes: a hash in the database must not stop the service. */
const WHOLE =
  /^\$argon2id\$v=19\$m=(?:[1-9]\d{0,5}|10[0-3]\d{4}|104[0-7]\d{3}|1048[0-4]\d\d|10485[0-6]\d|104857[0-6]),t=[1-9]\d?,p=[1-9]\d?\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/

/** Whether the text is a complete hash of Argon2id, with a salt of 16 bytes and a digest of 32. */
export function isWhole(passwordHash: string): boolean {
  return WHOLE.test(passwordHash)
}

/** Whether the hash is of bcrypt in its plain form, which reads only 72 bytes of a password. */
export function isBcrypt(passwordHash: string): boolean {
  return passwordHash.startsWith('$2')
}

/** Returns how every new hash begins. */
export function parameters({ memoryCost, timeCost, parallelism }: Parameters): string {
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$`
}

/** Returns a hash that matches no known password. Its verification takes as long as that of any new hash. */
export function decoyHash(options: Parameters): string {
  return `${parameters(options)}${'A'.repeat(22)}$${'A'.repeat(43)}`
}
