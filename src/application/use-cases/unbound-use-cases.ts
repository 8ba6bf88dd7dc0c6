import type { UseCases } from './use-cases.ts'

/**
 * The use cases of a service that does not run: routes can be declared with them, to be read. Whoever calls one is told so
 * by an error.
 */
export function unboundUseCases(): UseCases {
  return unbound as unknown as UseCases
}

function notRunning(): never {
  throw new Error('The routes are only being read: no service runs that could be called.')
}

// Every use case, whatever they are called, and those that stand in a group.
const unbound: typeof notRunning = new Proxy(notRunning, { get: () => unbound })
