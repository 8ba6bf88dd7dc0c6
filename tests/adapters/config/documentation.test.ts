import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseDotEnv } from '../../../src/adapters/config/dot-env.ts'
import { SETTINGS, type Setting } from '../../../src/adapters/config/settings.ts'

const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')

test('.env.example has every setting with its meaning and default, in the order of the settings', () => {
  const [, ...blocks] = example.trimEnd().split('\n\n')
  assert.deepEqual(blocks, SETTINGS.map(blockOf))
})

test('.env.example sets nothing unless a line is uncommented', () => {
  assert.deepEqual(parseDotEnv(example), { variables: new Map(), problems: [] })
})

function blockOf({ name, default: text, shownDefault, meaning, example: shown, secret }: Setting): string {
  const remarks = [
    text === null ? `default: ${shownDefault}` : null,
    secret ? `or ${name}_FILE=<path>` : null,
  ].filter((remark) => remark !== null)
  const remark = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`
  return `# ${meaning}${remark}\n# ${name}=${shown}`
}
