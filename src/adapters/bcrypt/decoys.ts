/** The measured overhead of a call of bcrypt beyond its 2^cost rounds, in rounds. */
const CALL_OVERHEAD_ROUNDS = 4

/**
 * Returns the costs of the decoys that pad a verification to `cost`, since 2^c + 2^c + 2^(c+1) + … + 2^(C-1) = 2^C.
 * `storedCost` is null when no hash was verified. The lowest decoy is left out when the overhead of the calls covers it.
 */
export function decoyCosts(storedCost: number | null, cost: number): readonly number[] {
  if (storedCost === null) return [cost]
  const costs = Array.from({ length: Math.max(0, cost - storedCost) }, (_, step) => storedCost + step)
  return 2 ** storedCost < costs.length * CALL_OVERHEAD_ROUNDS ? costs.slice(1) : costs
}

/** Returns a whole hash that matches no known password. Its verification takes as long as any hash of this cost. */
export function decoyHash(cost: number): string {
  return `${hashPrefix(cost)}${'.'.repeat(53)}`
}

/** Returns the prefix of every new hash of this cost. */
export function hashPrefix(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$`
}
