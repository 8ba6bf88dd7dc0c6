import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseDotEnv } from '../../../src/adapters/config/dot-env.ts'
import type { Setting } from '../../../src/adapters/config/setting.ts'
import { SETTINGS, type Values } from '../../../src/adapters/config/settings.ts'
import type { Configuration } from '../../../src/application/configuration.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Fields<T> = { [Key in keyof T]: T[Key] }

// Compiles only while the table declares every field of the configuration, and with the same type.
const isExact: Equal<Fields<Values>, Fields<Omit<Configuration, 'production' | 'threadPoolSize'>>> = true

const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')

test('.env.example has every setting with its meaning and default, in the order of the settings', () => {
  const [, ...blocks] = example.trimEnd().split('\n\n')
  assert.deepEqual(blocks, SETTINGS.map(blockOf))
})

test('.env.example sets nothing unless a line is uncommented', () => {
  assert.deepEqual(parseDotEnv(example), { variables: new Map(), problems: [] })
})

test('the table of settings has every field of the configuration once', () => {
  assert.ok(isExact)
  assert.equal(new Set(SETTINGS.map(({ key }) => key)).size, SETTINGS.length)
})

function blockOf({ name, default: text, shownDefault, meaning, example: shown, secret }: Setting): string {
  const remarks = [
    text === null ? `default: ${shownDefault}` : null,
    secret ? `or ${name}_FILE=<path>` : null,
  ].filter((remark) => remark !== null)
  const remark = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`
  return `# ${meaning}${remark}\n# ${name}=${shown}`
}
