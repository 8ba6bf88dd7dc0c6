import type { OpenDatabase } from '../ports/database.ts'
import type { UseCases } from './use-cases.ts'

/**
 * Use cases without a running service: routes can be declared with them, for example to print the routes. Calling one
 * throws an error.
 */
export function unboundUseCases(): UseCases {
  return unbound as unknown as UseCases
}

/** The same for the open database, whose stores no declaration may call. */
export function unboundDatabase(): OpenDatabase {
  return unbound as unknown as OpenDatabase
}

function notRunning(): never {
  throw new Error('This cannot be called: the routes were declared without a running service.')
}

// Every property is a use case or a group of use cases.
const unbound: typeof notRunning = new Proxy(notRunning, { get: () => unbound })
