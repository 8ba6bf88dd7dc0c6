import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DigestSet } from '../../src/adapters/node-crypto/digest-set.ts'
import { foreignDigest } from '../../src/adapters/node-crypto/foreign-secrets.ts'
import type { SkippedRow, TokenRow } from '../../src/application/management/token-rows.ts'
import type {
  ImportedToken,
  ImportedTokens,
  ImportOutcome,
} from '../../src/application/ports/imported-tokens.ts'
import type { RefusedRow } from '../../src/application/use-cases/import-customers.ts'
import {
  createImportTokens,
  type TokenImportOptions,
  type TokenImportStep,
} from '../../src/application/use-cases/import-tokens.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { memoryCore } from '../support/core.ts'

type AnyRow = TokenRow | SkippedRow | RefusedRow

const NOW_MS = 1_700_000_000_000
const hex = (n: number) => n.toString(16).padStart(64, '0')

const aRow = (line: number, different: Partial<TokenRow> = {}): TokenRow => ({
  line,
  email: 'ana@example.com',
  form: 'sanctum',
  externalId: String(line),
  digest: hex(line),
  name: 'phone',
  abilities: ['orders:read'],
  createdAtMs: NOW_MS,
  expiresAtMs: null,
  lastUsedAtMs: null,
  ...different,
})
const manyRows = (count: number) => Array.from({ length: count }, (_, at) => aRow(at + 1))
const digestOf = ({ externalId, digest }: TokenRow) => foreignDigest({ form: 'sanctum', externalId, digest })

async function* each(rows: readonly AnyRow[]): AsyncGenerator<readonly AnyRow[]> {
  for (let at = 0; at < rows.length; at += 7) yield rows.slice(at, at + 7)
}

interface Stored {
  readonly tokens: Map<string, ImportedToken>
  readonly revoked: Set<string>
  /** Called before each batch is stored, with the number of its tokens. */
  beforeBatch: (size: number) => unknown
}

/** Imports into a store of two customers, of whom bob is disabled. */
function createImport({ outcomes = (all: readonly ImportOutcome[]) => all } = {}) {
  const core = memoryCore()
  const stored: Stored = { tokens: new Map(), revoked: new Set(), beforeBatch: () => {} }
  const outcomeOf = ({ email, digest }: ImportedToken): ImportOutcome => {
    if (stored.tokens.has(digest)) return 'exists'
    if (email !== 'ana@example.com' && email !== 'bob@example.com') return 'no_customer'
    return email === 'bob@example.com' ? 'disabled' : 'added'
  }
  const store: ImportedTokens = {
    async addMany(tokens) {
      await stored.beforeBatch(tokens.length)
      const all = tokens.map((token) => {
        const outcome = outcomeOf(token)
        if (outcome === 'added') stored.tokens.set(token.digest, token)
        return outcome
      })
      return outcomes(all)
    },
    checkMany: async (tokens) => tokens.map(outcomeOf),
    listUnrevoked: async (form, { after, limit }) =>
      [...stored.tokens.values()]
        .filter(({ token, ...one }) => one.form === form && !stored.revoked.has(token.id))
        .map(({ token: { id }, digest }) => ({ id, digest }))
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .filter(({ id }) => after === null || id > after)
        .slice(0, limit),
    async revokeMany(ids) {
      for (const id of ids) stored.revoked.add(id)
      return ids.length
    },
  }
  const importTokens = createImportTokens(core.ports, store, foreignDigest, () => new DigestSet())
  const start = (rows: AsyncIterable<readonly AnyRow[]>, options: Partial<TokenImportOptions> = {}) =>
    importTokens(rows, {
      isDryRun: false,
      isWidening: false,
      synced: null,
      deadline: core.deadline,
      ...options,
    })
  const run = (rows: readonly AnyRow[], options: Partial<TokenImportOptions> = {}) =>
    collect(start(each(rows), options))
  return { core, stored, start, run }
}

async function collect(
  steps: AsyncIterable<TokenImportStep>,
  into: TokenImportStep[] = [],
): Promise<readonly TokenImportStep[]> {
  for await (const step of steps) into.push(step)
  return into
}

const settled = (added: number, alreadyThere = 0) => ({ kind: 'settled', added, alreadyThere })
const refused = (line: number, problem: string) => ({ kind: 'refused', row: { line, problem } })

describe('The import of tokens', () => {
  it('stores each token under the digest of its form and ID', async () => {
    const { core, stored, run } = createImport()
    const own = aRow(2, { form: null, externalId: null, createdAtMs: null, email: ' ana@example.com\t' })
    assert.deepEqual(await run([aRow(1), own]), [settled(2)])
    assert.deepEqual([...stored.tokens.keys()], [digestOf(aRow(1)), own.digest])
    const [first, second] = [...stored.tokens.values()]
    assert.deepEqual(first?.token, {
      id: first?.token.id,
      name: 'phone',
      abilities: ['orders:read'],
      device: null,
      createdAtMs: NOW_MS,
      expiresAtMs: null,
      lastUsedAtMs: null,
    })
    assert.deepEqual([first?.form, first?.externalId], ['sanctum', '1'])
    assert.deepEqual([second?.form, second?.email], [null, 'ana@example.com'])
    assert.equal(second?.token.createdAtMs, core.clock.nowMs())
    assert.deepEqual(core.recorded, [{ event: 'token.issued', count: 2 }])
  })

  it('never uses the reserved name of login tokens', async () => {
    const { stored, run } = createImport()
    const login = { name: 'login' }
    await run([aRow(1, login), aRow(2, { ...login, form: null, externalId: null })])
    assert.deepEqual(
      [...stored.tokens.values()].map(({ token }) => token.name),
      ['sanctum login', 'imported login'],
    )
  })

  it('refuses each invalid row with its line and reason, and stores the others', async () => {
    const { stored, run } = createImport()
    const steps = await run([
      { line: 1, problem: 'Is not JSON.' },
      aRow(2, { email: ' ' }),
      aRow(3, { digest: 'x' }),
      aRow(4, { name: '' }),
      aRow(5, { abilities: ['no spaces'] }),
      aRow(6, { abilities: ['orders:*'] }),
      aRow(7, { email: 'nobody@example.com' }),
      aRow(8, { email: 'bob@example.com' }),
      aRow(9),
    ])
    assert.deepEqual(
      steps.map((step) => (step.kind === 'refused' ? step.row.line : step)),
      [1, 2, 3, 4, 5, 6, 7, 8, settled(1)],
    )
    assert.deepEqual(steps.slice(6, 8), [
      refused(7, 'email: No customer has this e-mail.'),
      refused(8, 'email: The customer is disabled.'),
    ])
    assert.equal(stored.tokens.size, 1)
    assert.deepEqual(await run([aRow(6, { abilities: ['orders:*'] })], { isWidening: true }), [settled(1)])
  })

  it('refuses an ID, or a time, that no token can have', async () => {
    const { stored, run } = createImport()
    const id = (externalId: string) => ({ externalId })
    const afterAll = Date.UTC(10_000, 0)
    const rows = (
      [
        [id(''), 'id: Must have 1 to 64 characters.'],
        [id('7'.repeat(65)), 'id: Must have 1 to 64 characters.'],
        [id('\u0000'), 'id: Must not contain control characters.'],
        [id('1\n'), 'id: Must not contain control characters.'],
        [id('\ud800'), 'id: Must be well-formed text.'],
        [{ createdAtMs: -1 }, 'created_at: Must be a time from 1970 to 9999.'],
        [{ createdAtMs: Number.NaN }, 'created_at: Must be a time from 1970 to 9999.'],
        [{ expiresAtMs: afterAll }, 'expires_at: Must be a time from 1970 to 9999.'],
        [{ lastUsedAtMs: Number.POSITIVE_INFINITY }, 'last_used_at: Must be a time from 1970 to 9999.'],
      ] as const
    ).map(([different, problem], at) => ({ row: aRow(at + 1, different), problem }))
    const steps = await run(rows.map(({ row }) => row))
    assert.deepEqual(
      steps,
      rows.map(({ row, problem }) => refused(row.line, problem)),
    )
    const limits = { externalId: '7'.repeat(64), createdAtMs: 0, expiresAtMs: afterAll - 1, lastUsedAtMs: 0 }
    assert.deepEqual(await run([aRow(1, limits)]), [settled(1)])
    assert.equal(stored.tokens.size, 1)
  })

  it('changes nothing that exists, and records nothing for it', async () => {
    const { core, run } = createImport()
    await run(manyRows(3))
    assert.deepEqual(await run(manyRows(3)), [settled(0, 3)])
    assert.equal(core.recorded.length, 1)
  })

  it('stores nothing in a dry run', async () => {
    const { core, stored, run } = createImport()
    await run([aRow(1)])
    const rows = [aRow(1), aRow(2), aRow(3, { email: 'nobody@example.com' })]
    const dry = await run(rows, { isDryRun: true, synced: 'sanctum' })
    assert.deepEqual(dry, [
      refused(3, 'email: No customer has this e-mail.'),
      settled(1, 1),
      { kind: 'revoked', revoked: 0 },
    ])
    assert.deepEqual([stored.tokens.size, core.recorded.length, core.announced.length], [1, 1, 0])
  })

  it('yields a batch once it is stored, with a deadline of its own', async () => {
    const { core, stored, start } = createImport()
    let deadlines = 0
    const deadline = () => {
      deadlines++
      return core.deadline()
    }
    const sizes: number[] = []
    let added = 0
    for await (const step of start(each(manyRows(2001)), { deadline })) {
      assert.equal(step.kind, 'settled')
      added += step.kind === 'settled' ? step.added : 0
      sizes.push(added)
      assert.ok(stored.tokens.size >= added)
    }
    assert.deepEqual([sizes, deadlines], [[1000, 2000, 2001], 3])
  })

  it('reads the next batch while one is stored, and stores one at a time', async () => {
    const { stored, start } = createImport()
    let read = 0
    let open = 0
    const readWhileStoring: number[] = []
    async function* rows() {
      for (const row of manyRows(3000)) {
        read++
        yield [row]
      }
    }
    stored.beforeBatch = async () => {
      assert.equal(++open, 1)
      const before = read
      // The last batch has no next one.
      while (read < Math.min(before + 500, 3000)) await new Promise(setImmediate)
      readWhileStoring.push(read - before)
      open--
    }
    await collect(start(rows()))
    assert.equal(readWhileStoring.length, 3)
    for (const count of readWhileStoring.slice(0, 2)) assert.ok(count >= 500, String(count))
  })

  it('counts the batch that is being stored when the rows end with an error', async () => {
    const { stored, start } = createImport()
    const failure = new Error('The file ended.')
    async function* rows() {
      yield manyRows(1100)
      throw failure
    }
    const steps: TokenImportStep[] = []
    await assert.rejects(collect(start(rows(), { synced: 'sanctum' }), steps), failure)
    assert.deepEqual(steps, [settled(1000)])
    assert.equal(stored.tokens.size, 1000)
  })

  it('waits for the batch that is being stored when the consumer stops', async () => {
    const { core, stored, start } = createImport()
    const rows = [...manyRows(1000), { line: 1001, problem: 'Is not JSON.' }, ...manyRows(5)]
    for await (const step of start(each(rows))) {
      assert.equal(step.kind, 'refused')
      break
    }
    assert.equal(stored.tokens.size, 1000)
    assert.deepEqual(core.recorded, [{ event: 'token.issued', count: 1000 }])
  })

  it('passes a failure of the store on, and stores nothing after it', async () => {
    const failure = new Unavailable()
    for (const count of [10, 1000, 4500]) {
      const { stored, run } = createImport()
      let batches = 0
      stored.beforeBatch = () => {
        batches++
        throw failure
      }
      await assert.rejects(run(manyRows(count)), failure)
      assert.equal(batches, 1)
    }
  })

  it('does not trust a store that returns too few outcomes', async () => {
    const { run } = createImport({ outcomes: (all) => all.slice(1) })
    await assert.rejects(run(manyRows(2)), Unavailable)
  })
})

describe('A synchronised import', () => {
  it('revokes the tokens of the form that the rows lack, on every instance', async () => {
    const { core, stored, run } = createImport()
    await run([...manyRows(4), aRow(5, { form: 'drf', externalId: null })])
    const steps = await run([aRow(1), aRow(3)], { synced: 'sanctum' })
    assert.deepEqual(steps, [settled(0, 2), { kind: 'revoked', revoked: 2 }])
    const ids = [2, 4].map((n) => stored.tokens.get(digestOf(aRow(n)))?.token.id)
    assert.deepEqual([...stored.revoked].sort(), ids.sort())
    assert.deepEqual(core.announced, [{ kind: 'everything' }])
    assert.deepEqual(core.recorded.at(-1), {
      event: 'token.revoked',
      count: 2,
      reason: 'operator',
    })
  })

  it('compares page by page', async () => {
    const { stored, run } = createImport()
    await run(manyRows(2500))
    const steps = await run(manyRows(2400), { synced: 'sanctum' })
    assert.deepEqual(steps.at(-1), { kind: 'revoked', revoked: 100 })
    assert.equal(stored.revoked.size, 100)
  })

  it('keeps the token of a skipped row that the other system still has', async () => {
    const { run } = createImport()
    await run(manyRows(3))
    const { externalId, digest } = aRow(2)
    const steps = await run(
      [
        aRow(1),
        { line: 2, skipped: 'other_type', present: { form: 'sanctum', externalId, digest } },
        { line: 3, skipped: 'expired', present: null },
      ],
      { synced: 'sanctum' },
    )
    assert.deepEqual(steps, [
      { kind: 'skipped', reason: 'other_type' },
      { kind: 'skipped', reason: 'expired' },
      settled(0, 1),
      { kind: 'revoked', revoked: 1 },
    ])
  })

  it('revokes nothing when a row cannot be read, or when there is none', async () => {
    const { stored, run } = createImport()
    await run(manyRows(2))
    const unreadable = await run([aRow(1), { line: 2, problem: 'Is not JSON.' }], { synced: 'sanctum' })
    assert.deepEqual(unreadable, [refused(2, 'Is not JSON.'), settled(0, 1)])
    assert.deepEqual(await run([], { synced: 'sanctum' }), [])
    assert.equal(stored.revoked.size, 0)
  })
})
