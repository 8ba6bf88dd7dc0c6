import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  exportedDeclarations,
  isMethod,
  reexportedNames,
  repeatedNames,
  undocumentedNames,
} from './support/exports.ts'

const src = join(import.meta.dirname, '../src')
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, source: readFileSync(join(src, file), 'utf8') }))
const declarations = sources.flatMap(({ file, source }) => exportedDeclarations(file, source))

describe('The exports of src', () => {
  it('describe each port and each of its methods', () => {
    const ports = declarations.filter(({ file }) => file.startsWith('application/ports/'))
    assert.ok(ports.length > 0)
    assert.deepEqual(
      ports.flatMap((port) => undocumentedNames(port, isMethod)),
      [],
    )
  })

  it('describe each option of the package', () => {
    const names = sources
      .filter(({ file }) => file.startsWith('package/'))
      .flatMap(({ file, source }) => reexportedNames(file, source))
    const options = declarations.filter(({ name }) => /Options|Overrides/.test(name) && names.includes(name))
    assert.ok(options.length > 0)
    assert.deepEqual(
      options.flatMap((each) => undocumentedNames(each, () => true)),
      [],
    )
  })

  it('give each name one meaning', () => {
    assert.deepEqual(repeatedNames(declarations), [])
  })
})

describe('The check of exports', () => {
  const planted = exportedDeclarations(
    'planted.ts',
    `/** A port. */
     export interface Port {
       /** Described. */
       one(): void
       two(): void
       three: () => void
       four: string
     }
     export const bare = 1
     const own = 2`,
  )

  it('finds declarations and methods without a docstring', () => {
    assert.deepEqual(
      planted.flatMap((each) => undocumentedNames(each, isMethod)),
      ['planted.ts: Port.two', 'planted.ts: Port.three', 'planted.ts: bare'],
    )
  })

  it('finds a name that two files declare, and none that one file re-exports', () => {
    const other = exportedDeclarations(
      'other.ts',
      "export type Port = string\nexport { bare } from './planted.ts'",
    )
    assert.deepEqual(repeatedNames([...planted, ...other]), ['Port: planted.ts, other.ts'])
    assert.deepEqual(reexportedNames('other.ts', "export { bare } from './planted.ts'"), ['bare'])
  })
})
