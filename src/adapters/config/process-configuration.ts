import { readFileSync } from 'node:fs'
import { ConfigurationRefused } from './configuration-refused.ts'
import { readConfiguration } from './read-configuration.ts'

/** The configuration of this process: its environment, and the `.env` file of the working directory. */
export function readProcessConfiguration(): ReturnType<typeof readConfiguration> {
  return readConfiguration({ env: process.env, dotEnv: dotEnvText() })
}

function dotEnvText(): string | null {
  try {
    return readFileSync('.env', 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new ConfigurationRefused([
      {
        name: '.env',
        problem: 'Is in the working directory and cannot be read.',
        example: 'a text file with a line such as PORT=3000, or none',
      },
    ])
  }
}
