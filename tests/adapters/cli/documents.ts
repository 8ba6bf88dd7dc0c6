import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createStepReport } from '../../../src/adapters/cli/smoke/step-report.ts'
import { makeCommandLine, toJsonText } from './command-line.ts'

const NEW_FILE = join(tmpdir(), `latchkey-test-${process.pid}.sql`)
const TABLES = [{ table: 'customers', rows: 1, sha256: '' }]
const EMAIL = 'ana@example.com'
const PASSWORD = 'correct horse battery'
const ROW = `email,password_hash\nx,${'x'.repeat(60)}\n`
const CHECK = { name: 'node', state: 'warning', message: 'x', hint: 'x', facts: {} } as const
const ROUTE = { method: 'GET', path: '/', auth: 'none', abilities: [], scopes: [], isPageAsset: false }

/** Every command with `--json`, by its words, in an order in which each of them works. */
const COMMANDS: readonly (readonly [command: string, more: readonly string[], input?: string])[] = [
  ['migrate', []],
  ['migrate --check', []],
  ['customer add', [EMAIL, '--password-stdin'], PASSWORD],
  ['customer import', ['-', '--format', 'csv'], ROW],
  ['customer list', []],
  ['customer password', [EMAIL, '--password-stdin'], PASSWORD],
  ['customer enable', [EMAIL]],
  ['token create', [EMAIL, '--name', 'bot']],
  ['customer sessions', [EMAIL]],
  ['customer unlock', [EMAIL]],
  ['customer show', [EMAIL]],
  ['token list', []],
  ['token revoke', [EMAIL]],
  ['token prune', []],
  ['customer disable', [EMAIL]],
  ['customer delete', [EMAIL]],
  ['token import', ['-', '--from', 'drf', '--format', 'csv'], 'email,key\nx,y\n'],
  ['backup', [NEW_FILE]],
  ['restore', [import.meta.filename]],
  ['upgrade-data', ['--old-binaries', 'x']],
  ['service-token new', []],
  ['routes', []],
  ['doctor', []],
]

/** Runs every command with `--json` and returns the documents. */
export async function commandDocuments(): Promise<readonly { command: string; document: unknown }[]> {
  const { run, store, putToken } = makeCommandLine({
    migrate: async () => ['0001'],
    pendingMigrations: async () => ['0001'],
    backUp: async () => ({ tables: TABLES, createdAt: '' }),
    restore: async () => ({ tables: TABLES, createdAt: '' }),
    upgradeData: async () => ({ dataDir: '', oldDataDir: '', from: '', to: '', bytes: 1, tables: TABLES }),
    routes: async () => [ROUTE],
    diagnose: async () => ({
      settings: [{ name: 'HOST', value: 'x', source: 'default', variable: 'HOST' }],
      findings: [CHECK],
    }),
  })
  const documents = []
  for (const [command, more, input] of COMMANDS) {
    const [customerId] = store.customers.keys()
    if (command === 'customer sessions' && customerId !== undefined) putToken(customerId)
    const { stdout, stderr } = await run([...command.split(' '), ...more, '--json'], input)
    if (stdout === '') throw new Error(`${command}: ${stderr}`)
    documents.push({ command, document: JSON.parse(stdout) })
  }
  rmSync(NEW_FILE)
  return [...documents, { command: 'smoke', document: await smokeDocument() }]
}

async function smokeDocument(): Promise<unknown> {
  const stdout = new PassThrough()
  const { step, end } = createStepReport({ stdin: stdout, stdout, stderr: stdout }, true)
  await step('login', async () => 'x')
  await end()
  return JSON.parse(toJsonText(stdout))
}

/** Returns the keys of a document as text, such as `{ tokens: [{ id, name }] }`. */
export function documentShape(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length === 0 ? '' : documentShape(value[0])}]`
  if (typeof value !== 'object' || value === null) return ''
  const fields = Object.entries(value).map(([key, field]) =>
    [key, documentShape(field)].filter(Boolean).join(': '),
  )
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
