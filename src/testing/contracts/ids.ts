import assert from 'node:assert/strict'
import type { Ids } from '../../application/ports/ids.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/**
 * The contract of `Ids`: each id is a UUID in lower case, and two generators never return the same one. `create` returns
 * a generator; it is called for each test. There are no concurrent tests, because the port is synchronous. Takes 0.1 s.
 */
export function idsContract(name: string, create: () => Ids, runner?: TestRunner): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of Ids:`, () => {
    it('every id is a UUID in lower case', () => {
      const ids = create()
      for (let count = 0; count < 1000; count++)
        assert.match(ids.next(), /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    })

    it('10,000 ids of two generators are distinct', () => {
      const generators = [create(), create()]
      const ids = generators.flatMap((generator) => Array.from({ length: 5000 }, () => generator.next()))
      assert.equal(new Set(ids).size, 10_000)
    })
  })
}
