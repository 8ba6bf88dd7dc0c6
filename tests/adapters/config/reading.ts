import assert from 'node:assert/strict'
import {
  type ConfigurationProblem,
  ConfigurationRefused,
} from '../../../src/adapters/config/configuration-refused.ts'
import { readConfiguration } from '../../../src/adapters/config/read-configuration.ts'
import type { Sources } from '../../../src/adapters/config/sources.ts'

type Env = Sources['env']
type More = Partial<Sources>

/** Reads a configuration from these variables alone. */
export function read(env: Env, more: More = {}): ReturnType<typeof readConfiguration> {
  return readConfiguration({ env, dotEnv: null, ...more })
}

/** Returns the error that these variables cause. */
export function toRefusal(env: Env, more: More = {}): ConfigurationRefused {
  try {
    read(env, more)
  } catch (error) {
    assert.ok(error instanceof ConfigurationRefused, String(error))
    return error
  }
  throw new Error('The configuration was accepted.')
}

/** Returns the problems of these variables. */
export function problemsOf(env: Env, more: More = {}): readonly ConfigurationProblem[] {
  return toRefusal(env, more).problems
}
