/** What a call of bcrypt costs beside the 2^cost rounds that it is asked for, in rounds, as measured. */
const ROUNDS_OF_A_CALL = 4

/**
 * The costs of the decoys that fill a verification up to `cost`, since 2^c + 2^c + 2^(c+1) + … + 2^(C-1) = 2^C;
 * `storedCost` is null where no hash was verified. The lowest is left out where the calls alone make up for it.
 */
export function decoyCosts(storedCost: number | null, cost: number): readonly number[] {
  if (storedCost === null) return [cost]
  const costs = Array.from({ length: Math.max(0, cost - storedCost) }, (_, step) => storedCost + step)
  return 2 ** storedCost < costs.length * ROUNDS_OF_A_CALL ? costs.slice(1) : costs
}

/** A whole hash that no known password has; verifying against it costs what any hash of this cost does. */
export function decoyHash(cost: number): string {
  return `${hashPrefix(cost)}${'.'.repeat(53)}`
}

/** What every new hash of this cost begins with. */
export function hashPrefix(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$`
}
