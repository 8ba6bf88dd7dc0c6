import type { UseCases } from './use-cases.ts'

/**
 * Use cases without a running service: routes can be declared with them, for example to print the routes. Calling one
 * throws an error.
 */
export function unboundUseCases(): UseCases {
  return unbound as unknown as UseCases
}

function notRunning(): never {
  throw new Error('This use case cannot be called: the routes were declared without a running service.')
}

// Every property is a use case or a group of use cases.
const unbound: typeof notRunning = new Proxy(notRunning, { get: () => unbound })
