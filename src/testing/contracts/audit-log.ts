import assert from 'node:assert/strict'
import type { AuditLog } from '../../application/ports/audit-log.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { Recorded } from '../recorded.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/** An audit log with functions that a test needs. */
export interface ReadableAuditLog {
  readonly audit: AuditLog
  /** Reads the stored events, in order: name and fields as `record` received them, without those that the adapter adds. */
  read(): readonly Recorded[]
  /** Makes later writes impossible, such as by closing the file. */
  disconnect(): void
}

/**
 * The contract of `AuditLog`: an event is stored when `record` returns, with its fields unchanged, and an event that
 * cannot be written throws `Unavailable`. `create` returns an empty log; it is called for each test. There are no
 * concurrent tests, because the port is synchronous. Takes the time of 1,003 writes.
 */
export function auditLogContract(name: string, create: () => ReadableAuditLog, runner?: TestRunner): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of AuditLog:`, () => {
    it('an event is stored with its fields when `record` returns', () => {
      const { audit, read } = create()
      const [address, tokenId] = ['2001:db8::1', 'b0000000-0000-4000-8000-000000000001']
      audit.record('login.failed', { requestId: 'r1', address, customerId: null, reason: 'unknown' })
      const failed = {
        event: 'login.failed',
        requestId: 'r1',
        address,
        customerId: null,
        reason: 'unknown',
      }
      assert.deepEqual(read(), [failed])
      const abilities = ['orders:read', 'a:*']
      audit.record('token.issued', { tokenId, tokenName: 'Ñandú "bot"\n', abilities })
      const issued = { event: 'token.issued', tokenId, tokenName: 'Ñandú "bot"\n', abilities }
      assert.deepEqual(read(), [failed, issued])
    })

    it('1,000 events are stored in the order of their calls', () => {
      const { audit, read } = create()
      for (let count = 0; count < 1000; count++)
        audit.record('token.revoked', { reason: 'operator', customerId: 'c1', count })
      assert.deepEqual(
        read().map(({ count }) => count),
        Array.from({ length: 1000 }, (_, count) => count),
      )
    })

    it('an event that cannot be written throws `Unavailable`', () => {
      const { audit, disconnect } = create()
      disconnect()
      assert.throws(
        () => audit.record('token.revoked', { reason: 'logout', tokenId: 't1' }),
        Unavailable,
        '`record` reported success',
      )
    })
  })
}
