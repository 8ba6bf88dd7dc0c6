import { tokenSecrets } from '../adapters/node-crypto/token-secrets.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { createRemoteVerifier, type RemoteVerifierOptions } from '../adapters/verifier/remote-verifier.ts'
import type { Verifier } from '../application/verifiers/verifier.ts'
import type { DatabaseVerifierOptions } from './database-verifier.ts'

/**
 * Starts a verifier. With `url` and `serviceToken` it asks an instance, and caches by its lease: no database driver is
 * loaded. With `databaseUrl` it resolves when it is connected to the database of the service, as an instance without HTTP.
 */
export function createVerifier(options: RemoteVerifierOptions): Verifier
export function createVerifier(options: DatabaseVerifierOptions): Promise<Verifier>
export function createVerifier(
  options: RemoteVerifierOptions | DatabaseVerifierOptions,
): Verifier | Promise<Verifier> {
  if (!('url' in options)) return openFromDatabase(options)
  // The prefix is only that of new tokens, which a verifier does not issue.
  return createRemoteVerifier(options, { clock: systemClock, ...tokenSecrets({ prefix: 'lk' }) })
}

async function openFromDatabase(options: DatabaseVerifierOptions): Promise<Verifier> {
  const { openDatabaseVerifier } = await import('./database-verifier.ts')
  return openDatabaseVerifier(options)
}
