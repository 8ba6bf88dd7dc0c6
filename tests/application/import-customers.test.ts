import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Customers } from '../../src/application/ports/customers.ts'
import type { ImportStep, ReadRow, RefusedRow } from '../../src/application/use-cases/import-customers.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { type Core, memoryCore, unreachable } from '../support/core.ts'

const TAIL = '04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
const HASH = `$2y$${TAIL}`

const aRow = (line: number, different: Partial<ReadRow> = {}): ReadRow => ({
  line,
  email: `customer-${line}@example.com`,
  passwordHash: HASH,
  name: null,
  ...different,
})

const manyRows = (count: number) => Array.from({ length: count }, (_, at) => aRow(at + 1))

async function* each(rows: readonly (ReadRow | RefusedRow)[]) {
  yield* rows
}

const importRows = (core: Core, rows: readonly (ReadRow | RefusedRow)[], isDryRun = false) =>
  core.importCustomers(each(rows), { isDryRun, deadline: core.deadline })

async function collectSteps(steps: AsyncIterable<ImportStep>): Promise<readonly ImportStep[]> {
  const all: ImportStep[] = []
  for await (const step of steps) all.push(step)
  return all
}

const refusedStep = (line: number, problem: string) => ({ kind: 'refused', row: { line, problem } })
const settledStep = (added: number, alreadyThere = 0) => ({ kind: 'settled', added, alreadyThere })
const find = (core: Core, email: string) => core.ports.customers.findByEmail(email, 1000)

describe('An import', () => {
  it('creates each customer with e-mail, name and hash trimmed', async () => {
    const core = memoryCore()
    const steps = await collectSteps(
      importRows(core, [
        aRow(1, { email: ' Ana@Example.com\t', name: ' Ana Ruiz ', passwordHash: `${HASH} \r` }),
        aRow(2, { name: ' ', passwordHash: HASH.padEnd(64) }),
      ]),
    )
    assert.deepEqual(steps, [settledStep(2)])
    const ana = await find(core, 'ana@example.com')
    assert.deepEqual(ana, {
      customer: {
        id: ana?.customer.id,
        email: 'Ana@Example.com',
        name: 'Ana Ruiz',
        createdAtMs: core.clock.nowMs(),
        disabledAtMs: null,
      },
      passwordHash: HASH,
    })
    const other = await find(core, 'customer-2@example.com')
    assert.deepEqual([other?.customer.name, other?.passwordHash], [null, HASH])
  })

  // Public case 057
  it('keeps the version of each hash', async () => {
    const core = memoryCore()
    for (const version of ['$2a$', '$2b$', '$2y$']) {
      await collectSteps(importRows(core, [aRow(1, { email: `${version}@b`, passwordHash: version + TAIL })]))
      assert.equal((await find(core, `${version}@b`))?.passwordHash, version + TAIL)
    }
  })

  it('refuses each invalid row with its line and reason, and stores the others', async () => {
    const core = memoryCore()
    const kind = 'password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.'
    const steps = await collectSteps(
      importRows(core, [
        aRow(2),
        { line: 3, problem: 'Is not JSON.' },
        aRow(4, { email: ' ' }),
        aRow(5, { email: 'a\u0000b' }),
        aRow(6, { passwordHash: HASH.slice(1) }),
        aRow(7, { passwordHash: HASH.slice(0, -1) }),
        aRow(8, { passwordHash: ' \t' }),
        aRow(9, { passwordHash: `"${HASH}"` }),
        aRow(10, { name: 'A\nB' }),
        aRow(11, { name: 'n'.repeat(201) }),
        aRow(12),
      ]),
    )
    assert.deepEqual(steps, [
      refusedStep(3, 'Is not JSON.'),
      refusedStep(4, 'email: Must have 1 to 254 characters.'),
      refusedStep(5, 'email: Must not contain control characters.'),
      refusedStep(6, kind),
      refusedStep(7, 'password_hash: Has 59 characters, expected 60.'),
      refusedStep(8, 'password_hash: Must not be empty.'),
      refusedStep(9, kind),
      refusedStep(10, 'name: Must not contain control characters.'),
      refusedStep(11, 'name: Must have at most 200 characters.'),
      settledStep(2),
    ])
    assert.equal(core.store.customers.size, 2)
  })

  // Public case 078
  it('refuses a duplicate e-mail in any ASCII case and names both lines', async () => {
    const core = memoryCore()
    const steps = await collectSteps(
      importRows(core, [
        aRow(2, { email: 'ana@example.com', passwordHash: '' }),
        aRow(3, { email: 'ana@example.com', name: 'first' }),
        aRow(4, { email: ' ANA@Example.com ', name: 'second' }),
        aRow(5, { email: 'ana@example.com', name: 'third' }),
      ]),
    )
    assert.deepEqual(steps.slice(1), [
      refusedStep(4, 'email: Is the same as in line 3.'),
      refusedStep(5, 'email: Is the same as in line 3.'),
      settledStep(1),
    ])
    assert.equal((await find(core, 'ana@example.com'))?.customer.name, 'first')
  })

  // Public case 082
  it('does not change existing customers, nor their changed passwords', async () => {
    const core = memoryCore()
    assert.deepEqual(await collectSteps(importRows(core, manyRows(3))), [settledStep(3)])
    const changed = await core.customers.find('customer-2@example.com', core.deadline())
    await core.customers.setPassword(changed?.id ?? '', { passwordHash: `$2b$${TAIL}` }, core.deadline())
    assert.deepEqual(await collectSteps(importRows(core, manyRows(4))), [settledStep(1, 3)])
    assert.equal((await find(core, 'customer-2@example.com'))?.passwordHash, `$2b$${TAIL}`)
  })

  it('stores each batch before it reports it', async () => {
    const core = memoryCore()
    const sizes: number[] = []
    for await (const step of importRows(core, manyRows(1001))) {
      assert.equal(step.kind, 'settled')
      sizes.push(core.store.customers.size)
    }
    assert.deepEqual(sizes, [500, 1000, 1001])
  })

  it('stops storing and reading when the consumer stops', async () => {
    const core = memoryCore()
    let isClosed = false
    async function* rows() {
      try {
        yield* manyRows(1200)
      } finally {
        isClosed = true
      }
    }
    for await (const _ of core.importCustomers(rows(), { isDryRun: false, deadline: core.deadline })) break
    assert.deepEqual([core.store.customers.size, isClosed], [500, true])
  })

  it('gives each batch its own deadline and passes a store failure on', async () => {
    let deadlines = 0
    const core = memoryCore()
    const deadline = () => {
      deadlines++
      return core.deadline()
    }
    await collectSteps(core.importCustomers(each(manyRows(1001)), { isDryRun: false, deadline }))
    assert.equal(deadlines, 3)
    const failure = new Unavailable()
    const broken = memoryCore(() => ({ customers: unreachable<Customers>(failure).port }))
    await assert.rejects(collectSteps(importRows(broken, manyRows(1))), failure)
  })

  it('records the number of customers it created and publishes no invalidation', async () => {
    const events: unknown[] = []
    const core = memoryCore(() => ({ audit: { record: (...event) => events.push(event) } }))
    await collectSteps(importRows(core, manyRows(2)))
    await collectSteps(importRows(core, manyRows(2)))
    await collectSteps(importRows(core, manyRows(3), true))
    assert.deepEqual(events, [['customer.added', { count: 2 }]])
    assert.deepEqual(core.announced, [])
  })
})

describe('A dry run', () => {
  it('reports the same steps and changes nothing', async () => {
    const core = memoryCore()
    const rows = [
      ...manyRows(3),
      aRow(4, { passwordHash: 'x' }),
      aRow(5, { email: 'CUSTOMER-1@example.com' }),
    ]
    await collectSteps(importRows(core, [aRow(2)]))
    const dry = await collectSteps(importRows(core, rows, true))
    assert.equal(core.store.customers.size, 1)
    assert.deepEqual(dry, await collectSteps(importRows(core, rows)))
    assert.deepEqual(dry.at(-1), settledStep(2, 1))
    assert.equal(core.store.customers.size, 3)
  })
})
