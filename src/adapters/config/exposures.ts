import { isIP } from 'node:net'
import type { Configuration } from '../../application/configuration.ts'
import type { ConfigurationWarning } from './warnings.ts'

/** Returns a warning for each connection over which secrets may travel unencrypted. */
export function findExposures({
  production,
  host,
  publicUrl,
  databaseUrl,
  databaseDirectUrl,
}: Configuration): readonly ConfigurationWarning[] {
  const warnings: ConfigurationWarning[] = []
  if (production && !isLocal(host) && !publicUrl?.startsWith('https:'))
    warnings.push({
      name: 'HOST',
      sentence:
        'HOST accepts connections from other machines, and the service itself has no TLS. Put a proxy with TLS in front, and set PUBLIC_URL to its https:// address.',
    })
  for (const [name, url] of [
    ['DATABASE_URL', databaseUrl],
    // By default it is the same.
    ['DATABASE_DIRECT_URL', databaseDirectUrl === databaseUrl ? null : databaseDirectUrl],
  ] as const)
    if (url !== null && isUnencrypted(new URL(url)))
      warnings.push({
        name,
        sentence: `${name} leads to another machine without TLS. Add the parameter sslmode=verify-full.`,
      })
  return warnings
}

/** Returns a warning in production when commands leave no events: they record them only in a file. */
export function findUnaudited({ production, auditLog }: Configuration): readonly ConfigurationWarning[] {
  if (!production || auditLog !== null) return []
  const sentence =
    'AUDIT_LOG is not set, so commands such as `customer disable` leave no audit events. Set it to a file.'
  return [{ name: 'AUDIT_LOG', sentence }]
}

/** Returns a warning when programs may cache validations whose revocation no logout waits for. */
export function findInexactVerifiers({
  revocation,
  serviceTokens,
}: Configuration): readonly ConfigurationWarning[] {
  if (revocation === 'strict' || !serviceTokens.some(({ scopes }) => scopes.includes('verify'))) return []
  const sentence =
    'REVOCATION=prompt waits for no verifier, and a service token has the scope verify. Its holder may accept a token for a moment after the logout. Set REVOCATION=strict.'
  return [{ name: 'REVOCATION', sentence }]
}

function isUnencrypted({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get('host') ?? decodeURIComponent(hostname)
  return !isLocal(host) && ['disable', null].includes(searchParams.get('sslmode'))
}

function isLocal(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return (
    name.startsWith('/') ||
    name === 'localhost' ||
    name === '::1' ||
    (isIP(name) === 4 && name.startsWith('127.'))
  )
}
