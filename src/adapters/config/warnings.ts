import type { Configuration } from '../../application/configuration.ts'
import { maxConnectionsByDescriptors } from './connection-limit.ts'
import { hashingThreads } from './hashing-threads.ts'
import type { SettingName } from './settings.ts'

/** What an operator should look at, though the service starts. */
export interface ConfigurationWarning {
  /** The setting, or `.env` for the file. */
  readonly name: SettingName | '.env'
  /** A whole sentence, or several. No value of a secret. */
  readonly sentence: string
}

/** Returns the warnings of valid settings. */
export function findWarnings(configuration: Configuration): readonly ConfigurationWarning[] {
  const { bcryptCost, hashingConcurrency, maxConnections, workers, ops, serviceTokens, threadPoolSize } =
    configuration
  const warnings: ConfigurationWarning[] = []
  const warn = (name: SettingName, sentence: string) => void warnings.push({ name, sentence })
  if (ops && serviceTokens.length === 0)
    warn('OPS', 'OPS is on and SERVICE_TOKENS is unset: no client can open /ops.')
  else if (ops && !serviceTokens.some(({ scopes }) => scopes.includes('ops')))
    warn('OPS', 'OPS is on and no service token has the scope ops: write it, such as oncall[ops]=….')
  if (bcryptCost < 10)
    warn(
      'BCRYPT_COST',
      'BCRYPT_COST is below 10: stolen password hashes would be quick to guess. Use it for tests only.',
    )
  const threads = hashingThreads(configuration)
  // With several workers, each one's thread pool is sized to fit.
  if (workers === 1 && hashingConcurrency !== null && hashingConcurrency > threads)
    warn(
      'HASHING_CONCURRENCY',
      `HASHING_CONCURRENCY is more than the thread pool can spare: ${threads} at once. Set UV_THREADPOOL_SIZE=${hashingConcurrency + 1} in the environment, not in .env.`,
    )
  else if (workers === 1 && threadPoolSize === 1)
    warn(
      'HASHING_CONCURRENCY',
      'UV_THREADPOOL_SIZE is 1: while a password is hashed, files and DNS wait. Set at least 2.',
    )
  const byDescriptors = maxConnectionsByDescriptors(configuration)
  if (maxConnections !== null && byDescriptors !== null && maxConnections > byDescriptors)
    warn(
      'MAX_CONNECTIONS',
      `MAX_CONNECTIONS is more than the limit of open files can spare: ${byDescriptors}. Raise that limit (LimitNOFILE, ulimit -n), or clients cannot connect.`,
    )
  if (isBehindProxy(configuration))
    warn(
      'TRUST_PROXY',
      'PUBLIC_URL is not what this process listens on, so a proxy seems to be in front, and TRUST_PROXY is 0: all clients share the limits of one address. Set TRUST_PROXY to the number of proxies.',
    )
  return warnings
}

/** Whether `PUBLIC_URL` shows that a proxy is in front: TLS, or another port. The proxy's entries are not trusted. */
function isBehindProxy({ publicUrl, port, trustedProxies }: Configuration): boolean {
  if (publicUrl === null || trustedProxies > 0) return false
  const { protocol, port: publicPort } = new URL(publicUrl)
  return protocol === 'https:' || (port !== 0 && (publicPort || '80') !== String(port))
}
