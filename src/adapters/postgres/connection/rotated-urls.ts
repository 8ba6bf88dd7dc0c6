/** The current URL of each database that was opened with another password, by the URL that it was opened with. */
const rotated = new Map<string, string>()

/** Makes every later connection of a database use the user and password of `current`. Open connections stay open. */
export function rotateCredentials(opened: string, current: string): void {
  rotated.set(opened, current)
}

/** Returns the URL with which a new connection is opened. */
export function currentUrl(opened: string): string {
  return rotated.get(opened) ?? opened
}

/** Whether two URLs differ at most in user and password. */
export function isSameDatabase(one: string, other: string): boolean {
  return withoutCredentials(one) === withoutCredentials(other)
}

function withoutCredentials(text: string): string {
  const url = new URL(text)
  url.username = ''
  url.password = ''
  return url.href
}
