const MODES_LIKE_VERIFY_FULL = ['prefer', 'require', 'verify-ca']

/**
 * Returns the URL in a form for which the driver prints no warning. This driver treats `prefer`, `require` and
 * `verify-ca` as `verify-full` and warns on standard error each time.
 */
export function driverUrl(url: string): string {
  const query = url.indexOf('?')
  if (query === -1) return url
  const parameters = new URLSearchParams(url.slice(query))
  // As libpq reads it: the certificate authorities of the system, which node uses by default, and full verification.
  if (parameters.get('sslrootcert') === 'system') {
    parameters.delete('sslrootcert')
    parameters.set('sslmode', 'verify-full')
    return `${url.slice(0, query)}?${parameters}`
  }
  if (!MODES_LIKE_VERIFY_FULL.includes(parameters.get('sslmode') ?? '')) return url
  parameters.set('sslmode', 'verify-full')
  return `${url.slice(0, query)}?${parameters}`
}

/** Whether an error is a TLS error: an invalid certificate, or a server without TLS. */
export function isOfTls(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return /CERT|SELF_SIGNED|VERIFY|^ERR_TLS|^ERR_SSL/.test(code) || /\b(SSL|TLS)\b/.test(error.message)
}
