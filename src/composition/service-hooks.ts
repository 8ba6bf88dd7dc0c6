import type { OpenDatabase } from '../application/ports/database.ts'
import type { Customer } from '../domain/customer.ts'
import type { Lifecycle } from './lifecycle.ts'

/**
 * What a program does when its service starts and stops. A hook that rejects before the service listens stops the start.
 * Methods, so that a hook may take the open database of its own kind.
 */
export interface ServiceHooks<Open extends OpenDatabase = OpenDatabase> {
  /** Called once per service before it listens: with several workers, in the first process, before they start. */
  onStart?(database: Open): void | Promise<void>
  /** Called once per service after the last response, before the database closes. */
  onStop?(database: Open): void | Promise<void>
  /** Called in each process that serves, before it listens. */
  onWorkerStart?(database: Open): void | Promise<void>
  /** Called in each process that serves, after its last response. */
  onWorkerStop?(database: Open): void | Promise<void>
  /**
   * Called in the process that serves the request, after a customer changed or reset the password: to notify the customer. It must
   * neither throw nor wait.
   */
  onPasswordChange?(customer: Customer): void
}

/** Runs `onStart`, and registers `onStop`. */
export async function startOnce(
  hooks: ServiceHooks,
  database: OpenDatabase,
  lifecycle: Lifecycle,
): Promise<void> {
  await hooks.onStart?.(database)
  lifecycle.onStop(() => hooks.onStop?.(database))
}

/** Runs `onWorkerStart`, and registers `onWorkerStop`. */
export async function startWorker(
  hooks: ServiceHooks,
  database: OpenDatabase,
  lifecycle: Lifecycle,
): Promise<void> {
  await hooks.onWorkerStart?.(database)
  lifecycle.onStop(() => hooks.onWorkerStop?.(database))
}
