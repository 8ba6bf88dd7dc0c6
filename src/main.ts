import { readFileSync } from 'node:fs'
import { runProgram } from './program/program.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

await runProgram({ version, title: 'Latchkey API' })
