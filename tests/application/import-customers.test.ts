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

const importing = (core: Core, rows: readonly (ReadRow | RefusedRow)[], isDryRun = false) =>
  core.importCustomers(each(rows), { isDryRun, deadline: core.deadline })

async function stepsOf(steps: AsyncIterable<ImportStep>): Promise<readonly ImportStep[]> {
  const all: ImportStep[] = []
  for await (const step of steps) all.push(step)
  return all
}

const refused = (line: number, problem: string) => ({ kind: 'refused', row: { line, problem } })
const settled = (added: number, alreadyThere = 0) => ({ kind: 'settled', added, alreadyThere })
const find = (core: Core, email: string) => core.ports.customers.findByEmail(email, 1000)

describe('An import', () => {
  it('stores each customer as a new one, e-mail, name and hash without white space round them', async () => {
    const core = memoryCore()
    const steps = await stepsOf(
      importing(core, [
        aRow(1, { email: ' Ana@Example.com\t', name: ' Ana Ruiz ', passwordHash: `${HASH} \r` }),
        aRow(2, { name: ' ', passwordHash: HASH.padEnd(64) }),
      ]),
    )
    assert.deepEqual(steps, [settled(2)])
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

  it('case 057: keeps the version of each hash', async () => {
    const core = memoryCore()
    for (const version of ['$2a$', '$2b$', '$2y$']) {
      await stepsOf(importing(core, [aRow(1, { email: version, passwordHash: version + TAIL })]))
      assert.equal((await find(core, version))?.passwordHash, version + TAIL)
    }
  })

  it('refuses what may not be stored, each with its line and reason, and stores the rest', async () => {
    const core = memoryCore()
    const kind = 'password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.'
    const steps = await stepsOf(
      importing(core, [
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
      refused(3, 'Is not JSON.'),
      refused(4, 'email: Must have 1 to 254 characters.'),
      refused(5, 'email: Must not contain control characters.'),
      refused(6, kind),
      refused(7, 'password_hash: Has 59 characters, expected 60.'),
      refused(8, 'password_hash: Must not be empty.'),
      refused(9, kind),
      refused(10, 'name: Must not contain control characters.'),
      refused(11, 'name: Must have at most 200 characters.'),
      settled(2),
    ])
    assert.equal(core.store.customers.size, 2)
  })

  it('case 078: refuses an e-mail that a good row had before, in any ASCII case, with both lines', async () => {
    const core = memoryCore()
    const steps = await stepsOf(
      importing(core, [
        aRow(2, { email: 'ana@example.com', passwordHash: '' }),
        aRow(3, { email: 'ana@example.com', name: 'first' }),
        aRow(4, { email: ' ANA@Example.com ', name: 'second' }),
        aRow(5, { email: 'ana@example.com', name: 'third' }),
      ]),
    )
    assert.deepEqual(steps.slice(1), [
      refused(4, 'email: Is the same as in line 3.'),
      refused(5, 'email: Is the same as in line 3.'),
      settled(1),
    ])
    assert.equal((await find(core, 'ana@example.com'))?.customer.name, 'first')
  })

  it('case 082: leaves customers who are there as they are, a password changed since included', async () => {
    const core = memoryCore()
    assert.deepEqual(await stepsOf(importing(core, manyRows(3))), [settled(3)])
    const changed = await core.customers.find('customer-2@example.com', core.deadline())
    await core.customers.setPassword(changed?.id ?? '', { passwordHash: `$2b$${TAIL}` }, core.deadline())
    assert.deepEqual(await stepsOf(importing(core, manyRows(4))), [settled(1, 3)])
    assert.equal((await find(core, 'customer-2@example.com'))?.passwordHash, `$2b$${TAIL}`)
  })

  it('goes in batches, and each is stored when it is told of', async () => {
    const core = memoryCore()
    const sizes: number[] = []
    for await (const step of importing(core, manyRows(1001))) {
      assert.equal(step.kind, 'settled')
      sizes.push(core.store.customers.size)
    }
    assert.deepEqual(sizes, [500, 1000, 1001])
  })

  it('stores nothing more when nobody listens any longer, and ends the reading', async () => {
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

  it('waits for the store anew with each batch, and passes its failure on', async () => {
    let patiences = 0
    const core = memoryCore()
    const deadline = () => {
      patiences++
      return core.deadline()
    }
    await stepsOf(core.importCustomers(each(manyRows(1001)), { isDryRun: false, deadline }))
    assert.equal(patiences, 3)
    const failure = new Unavailable()
    const broken = memoryCore(() => ({ customers: unreachable<Customers>(failure).port }))
    await assert.rejects(stepsOf(importing(broken, manyRows(1))), failure)
  })

  it('says how many customers it made, where it made any, and announces nothing', async () => {
    const events: unknown[] = []
    const core = memoryCore(() => ({ audit: { record: (...event) => events.push(event) } }))
    await stepsOf(importing(core, manyRows(2)))
    await stepsOf(importing(core, manyRows(2)))
    await stepsOf(importing(core, manyRows(3), true))
    assert.deepEqual(events, [['customer.added', { count: 2 }]])
    assert.deepEqual(core.announced, [])
  })
})

describe('A dry run', () => {
  it('tells the same and changes nothing', async () => {
    const core = memoryCore()
    const rows = [
      ...manyRows(3),
      aRow(4, { passwordHash: 'x' }),
      aRow(5, { email: 'CUSTOMER-1@example.com' }),
    ]
    await stepsOf(importing(core, [aRow(2)]))
    const dry = await stepsOf(importing(core, rows, true))
    assert.equal(core.store.customers.size, 1)
    assert.deepEqual(dry, await stepsOf(importing(core, rows)))
    assert.deepEqual(dry.at(-1), settled(2, 1))
    assert.equal(core.store.customers.size, 3)
  })
})
