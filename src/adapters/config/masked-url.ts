/** What of an address is no secret, and tells most when something is wrong. */
const SHOWN = ['sslmode', 'sslrootcert', 'host', 'port', 'application_name']

/** An address of a database without its password, and with those of its parameters only that are known to be no secret. */
export function maskedUrl(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  for (const name of new Set(url.searchParams.keys()))
    if (!SHOWN.includes(name)) url.searchParams.set(name, '***')
  return url.href
}
