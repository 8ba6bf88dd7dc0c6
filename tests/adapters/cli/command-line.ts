import { PassThrough, Readable } from 'node:stream'
import type { Operations } from '../../../src/adapters/cli/operations.ts'
import { runCli } from '../../../src/adapters/cli/run-cli.ts'
import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryInvalidations } from '../../../src/adapters/memory/invalidations.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createUseCases, type Settings } from '../../../src/application/use-cases/use-cases.ts'
import type { LoginToken } from '../../../src/domain/login-token.ts'
import { fakePasswords } from '../../support/fakes.ts'
import { idlePorts } from '../../support/idle-ports.ts'

/** The fixed time of all tests. */
export const NOW_MS = Date.UTC(2025, 0, 2, 3, 4, 5, 678)

/** The result of a command. */
export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command line on an empty store in memory, with access to the store for the tests. */
export function makeCommandLine(
  overrides: Partial<Operations> = {},
  { sharesThrottle = true, settings = {} }: { sharesThrottle?: boolean; settings?: Partial<Settings> } = {},
) {
  const store = memoryStore()
  const customers = memoryCustomers(store)
  const loginTokens = memoryLoginTokens(store)
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => 0, after: () => () => {} }
  let ids = 0
  const nextId = () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`
  const core = createUseCases(
    {
      customers,
      loginTokens,
      invalidations: memoryInvalidations(),
      passwords: { ...fakePasswords(), hash: async (password) => fakeHash(password) },
      ...idlePorts(),
      secrets: {
        issue: () => ({ secret: `secret-${ids}`, digest: `digest-of-${ids}` }),
        digestOf: () => null,
      },
      serviceSecrets: { identify: () => null },
      clock,
      ids: { next: nextId },
    },
    { tokenTtlMs: null, loginLimitAccount: null, ...settings },
  )
  const open = { now: 0 }
  const operations: Operations = {
    version: '1.2.3',
    serve: async () => {},
    migrate: async () => [],
    pendingMigrations: async () => [],
    backUp: async () => ({ tables: [], createdAt: '' }),
    restore: async () => ({ tables: [], createdAt: '' }),
    upgradeData: async () => null,
    routes: async () => [],
    openApi: async () => ({ document: {}, problems: [] }),
    diagnose: async () => ({ settings: [], findings: [] }),
    newServiceToken: () => 'a-new-secret-of-at-least-32-characters',
    async withStore(use) {
      open.now++
      try {
        return await use({
          customers: core.customers,
          importCustomers: core.importCustomers,
          // Stores nothing; `tests/moving/token-import.test.ts` imports into a database.
          importTokens: async function* (rows) {
            for await (const group of rows)
              for (const row of group) if ('problem' in row) yield { kind: 'refused', row }
          },
          tokens: core.tokens,
          sessions: core.sessions,
          sharesThrottle,
          tokenRetentionMs: 30 * 86_400_000,
          listCustomers: (afterEmail, limit) => customers.list({ afterEmail, limit }, 1000),
          tokensOf: (customerId) => loginTokens.listByCustomer(customerId, 1000),
          deadline: core.deadline,
          nowMs: clock.nowMs,
        })
      } finally {
        open.now--
      }
    },
    ...overrides,
  }

  return {
    store,
    /** The number of open stores: 0 after every command. */
    open,
    /** Runs one command with this standard input, which is not a terminal. */
    async run(argv: readonly string[], input: string | Uint8Array = ''): Promise<Outcome> {
      // Large enough for all output of a command, which is read afterwards.
      const stdout = new PassThrough({ highWaterMark: 2 ** 20 })
      const stderr = new PassThrough()
      const stdin = Readable.from([Buffer.from(input)])
      const code = await runCli(argv, operations, { stdin, stdout, stderr })
      return { code, stdout: toJsonText(stdout), stderr: toJsonText(stderr) }
    },
    operations,
    /** Stores a customer directly, as with `psql`, and returns the id. */
    async put(email: string, more: { name?: string; disabledAtMs?: number } = {}): Promise<string> {
      const id = nextId()
      const customer = { id, email, name: null, createdAtMs: NOW_MS, disabledAtMs: null, ...more }
      await customers.add({ customer, passwordHash: null }, 1000)
      return id
    },
    /** Stores a token of the customer; active by default. */
    putToken(customerId: string, more: Partial<LoginToken> = {}) {
      const id = nextId()
      store.tokens.set(`digest-${id}`, {
        id,
        customerId,
        name: 'login',
        abilities: ['*'],
        createdAtMs: NOW_MS,
        expiresAtMs: null,
        revokedAtMs: null,
        lastUsedAtMs: null,
        device: null,
        ...more,
      })
    },
    /** Returns the stored password hash of a customer. */
    async hashOf(email: string): Promise<string | null | undefined> {
      return (await customers.findByEmail(email, 1000))?.passwordHash
    },
  }
}

/** Returns the hash that the fake hasher computes for a password. */
export function fakeHash(password: string): string {
  return `hash of ${JSON.stringify(password)}`
}

/** Returns everything that was written to a stream. */
export function toJsonText(stream: PassThrough): string {
  return (stream.read() as Buffer | null)?.toString() ?? ''
}
