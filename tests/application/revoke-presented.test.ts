import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidToken, Unavailable } from '../../src/domain/errors.ts'
import { anUnknownSecret, type Core, memoryCore } from '../support/core.ts'
import { aRequester } from '../support/idle-ports.ts'

const requester = aRequester({ requestId: 'r1', address: '192.0.2.7' })
const revoke = (core: Core, presented: string, service: string | null = null) =>
  core.revokePresented(presented, core.deadline(), { requester, service })

describe('The revocation of a presented token', () => {
  it('ends it, whatever its name, and is recorded with the service token that asked', async () => {
    for (const [name, service] of [
      ['login', null],
      ['bot', 'gateway'],
    ] as const) {
      const core = memoryCore()
      const customer = await core.customer()
      const { secret, token } = await core.token(customer, { name })
      await revoke(core, secret, service)
      await assert.rejects(async () => core.authenticate(secret, core.deadline()), InvalidToken)
      assert.deepEqual(core.recorded[0], {
        event: 'token.revoked',
        requestId: 'r1',
        address: '192.0.2.7',
        ...(service !== null && { service }),
        customerId: customer.id,
        tokenId: token.id,
        reason: 'presented',
      })
    }
  })

  it('resolves for a token that is unknown, malformed or revoked already', async () => {
    const core = memoryCore()
    const { secret } = await core.token(await core.customer())
    await revoke(core, secret)
    for (const presented of [secret, anUnknownSecret(), 'x']) await revoke(core, presented)
    assert.equal(core.recorded.filter(({ event }) => event === 'token.revoked').length, 1)
  })

  it('is not recorded when another caller revoked the token meanwhile', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: {
        ...loginTokens,
        async revoke(token, atMs, timeoutMs) {
          await loginTokens.revoke(token, atMs, timeoutMs)
          return loginTokens.revoke(token, atMs, timeoutMs)
        },
      },
    }))
    const { secret } = await core.token(await core.customer())
    await revoke(core, secret)
    assert.deepEqual(core.recorded, [])
  })

  it('passes on that the store is unavailable', async () => {
    const core = memoryCore(({ loginTokens }) => ({
      loginTokens: { ...loginTokens, findByDigest: () => Promise.reject(new Unavailable()) },
    }))
    await assert.rejects(revoke(core, anUnknownSecret()), Unavailable)
  })
})
