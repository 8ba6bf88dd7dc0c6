import assert from 'node:assert/strict'
import type { PasswordBlocklist } from '../../application/ports/password-blocklist.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/**
 * The contract of `PasswordBlocklist`: a listed password is found in any letter case, and by 100 calls at once; other
 * texts are not found. `create` returns a list that contains the lower-case passwords `listed`; it is called for each
 * test. Takes as long as the list needs to load.
 */
export function passwordBlocklistContract(
  name: string,
  create: () => PasswordBlocklist,
  listed: readonly string[],
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of PasswordBlocklist:`, () => {
    it('a listed password is found in any letter case', async () => {
      const blocklist = create()
      for (const password of listed) {
        const capitalized = `${password.slice(0, 1).toUpperCase()}${password.slice(1)}`
        for (const written of [password, password.toUpperCase(), capitalized])
          assert.equal(await blocklist.has(written), true, written)
      }
    })

    it('a text that is not listed is not found', async () => {
      const blocklist = create()
      const similar = listed.flatMap((password) => [` ${password}`, `${password} `, `${password}\u0000`])
      const others = ['', ' ', '__proto__', 'constructor', 'p'.repeat(10_000), '\ud83e', ...similar]
      for (const password of others)
        assert.equal(await blocklist.has(password), false, JSON.stringify(password.slice(0, 40)))
    })

    it('100 calls at once have the same results', async () => {
      const blocklist = create()
      const [password = ''] = listed
      const found = await Promise.all(
        Array.from({ length: 100 }, (_, index) => blocklist.has(index % 2 === 0 ? password : '')),
      )
      assert.deepEqual(
        found,
        found.map((_, index) => index % 2 === 0),
      )
    })
  })
}
