import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SETTINGS, type Values } from '../../../src/adapters/config/settings.ts'
import type { Configuration } from '../../../src/application/configuration.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Fields<T> = { [Key in keyof T]: T[Key] }

// Compiles only while the table declares every field of the configuration, and with the same type.
const isExact: Equal<Fields<Values>, Fields<Omit<Configuration, 'production' | 'threadPoolSize'>>> = true

test('the table of settings has every field of the configuration once', () => {
  assert.ok(isExact)
  assert.equal(new Set(SETTINGS.map(({ key }) => key)).size, SETTINGS.length)
})
