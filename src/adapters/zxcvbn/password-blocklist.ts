import type { PasswordBlocklist } from '../../application/ports/password-blocklist.ts'

/** The 49,000 most common passwords of the breaches that zxcvbn-ts has counted (until 2015), loaded on the first call. */
export function zxcvbnPasswordBlocklist(): PasswordBlocklist {
  let loading: Promise<ReadonlySet<string>> | null = null
  return {
    async has(password) {
      loading ??= load().catch((error) => {
        // The next call loads again.
        loading = null
        throw error
      })
      return (await loading).has(password.toLowerCase())
    },
  }
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
