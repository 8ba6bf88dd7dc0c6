import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bcryptPasswordHasher } from 'latchkey/adapters/bcrypt'
import { memoryDatabase, memoryStore } from 'latchkey/adapters/memory'
import { createTestApp, passwordHasherContract } from 'latchkey/testing'
import { isWhole } from '../src/hashes.ts'
import { argon2PasswordHasher } from '../src/password-hasher.ts'

const FEW = { memoryKiB: 64, passes: 1, concurrency: 2 }

passwordHasherContract(
  'Argon2id beside bcrypt',
  (cost) => argon2PasswordHasher({ ...FEW, bcryptCost: cost }),
  undefined,
  { isWhole },
)

describe('Argon2id', () => {
  it('uses the parameters that OWASP recommends', async () => {
    const hash = await argon2PasswordHasher().hash('password')
    assert.ok(hash.startsWith('$argon2id$v=19$m=19456,t=2,p=1$'), hash)
    assert.ok(isWhole(hash), hash)
  })

  it('reports a hash of other parameters, and of bcrypt, as dated', async () => {
    const hasher = argon2PasswordHasher(FEW)
    assert.equal(hasher.isDated(await hasher.hash('password')), false)
    assert.equal(hasher.isDated(await argon2PasswordHasher({ ...FEW, passes: 2 }).hash('password')), true)
    assert.equal(hasher.isDated(await bcryptPasswordHasher({ cost: 4 }).hash('password')), true)
  })

  it('does not verify a hash that would take more than 1 GiB', () => {
    const hash = `$argon2id$v=19$m=1048576,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
    assert.equal(isWhole(hash), true)
    assert.equal(isWhole(hash.replace('1048576', '1048577')), false)
    assert.equal(isWhole(hash.replace('1048576', '9999999')), false)
  })

  it('replaces a hash of bcrypt at the next login', async () => {
    const passwords = argon2PasswordHasher({ ...FEW, bcryptCost: 4 })
    const store = memoryStore()
    const app = await createTestApp({ database: memoryDatabase(store), adapters: { passwords } })
    try {
      const passwordHash = await bcryptPasswordHasher({ cost: 4 }).hash('correct horse 9')
      const email = 'ana@example.com'
      const added = await app.useCases.customers.add(
        { email, name: null, password: { passwordHash } },
        app.useCases.deadline(),
      )
      assert.ok(added)
      const login = (password: string) => app.call('/api/login', { body: { email, password } })
      assert.equal((await login('wrong')).status, 401)
      assert.equal((await login('correct horse 9')).status, 200)
      const stored = store.customers.get(added.id)?.passwordHash ?? ''
      assert.ok(isWhole(stored), stored)
      assert.equal((await login('correct horse 9')).status, 200)
    } finally {
      await app.close()
    }
  })
})
