import type { Invalidation } from '../ports/invalidations.ts'

/** Returns the line that reports the invalidation to a verifier. */
export function encodeInvalidation(invalidation: Invalidation): string {
  switch (invalidation.kind) {
    case 'digest':
      return `digest ${invalidation.digest}`
    case 'customer':
      return `customer ${invalidation.customerId}`
    case 'everything':
      return 'forget'
  }
}
