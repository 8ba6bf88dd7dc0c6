/** The parameters that are shown: they are not secret, and they help most with a connection problem. */
const SHOWN = ['sslmode', 'sslrootcert', 'host', 'port', 'application_name']

/** Returns a database URL with its password masked, and the values of all parameters outside `SHOWN`. Throws if invalid. */
export function maskedUrl(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  for (const name of new Set(url.searchParams.keys()))
    if (!SHOWN.includes(name)) url.searchParams.set(name, '***')
  return url.href
}
