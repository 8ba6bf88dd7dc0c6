import { isIP } from 'node:net'
import type { Configuration } from '../../application/configuration.ts'

/** Returns a sentence for each connection over which secrets may travel unencrypted. */
export function findExposures({
  production,
  host,
  publicUrl,
  databaseUrl,
  databaseDirectUrl,
}: Configuration): readonly string[] {
  const sentences: string[] = []
  if (production && !isLocal(host) && !publicUrl?.startsWith('https:'))
    sentences.push(
      'HOST accepts connections from other machines, and the service itself has no TLS. Put a proxy with TLS in front, and set PUBLIC_URL to its https:// address.',
    )
  for (const [name, url] of [
    ['DATABASE_URL', databaseUrl],
    // By default it is the same.
    ['DATABASE_DIRECT_URL', databaseDirectUrl === databaseUrl ? null : databaseDirectUrl],
  ] as const)
    if (url !== null && isUnencrypted(new URL(url)))
      sentences.push(`${name} leads to another machine without TLS. Add the parameter sslmode=verify-full.`)
  return sentences
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
