/** Fills a migrated database that has no customers yet, each with ten tokens; see `USAGE`. */
import { parseArgs } from 'node:util'
import { progress } from '@clack/prompts'
import { grouped } from '../part.ts'
import { type Filling, fillDatabase, PASSWORD } from './fill-database.ts'
import { emailOf } from './rows.ts'

const USAGE =
  'DATABASE_URL=postgres://… node --import tsx bench/growth/fill.ts --customers 1000000 --tokens-file tokens.txt'

const { url, customers, tokensFile } = read()
const shown = process.stderr.isTTY ? asBar() : asLines()
try {
  const filled = await fillDatabase({ url, customers, tokensFile, onProgress: shown.onProgress })
  const { rows, seconds, rowsPerSecond } = filled
  shown.end(
    `${grouped(rows)} rows in ${grouped(seconds, 1)} s, copied at ${grouped(rowsPerSecond)} rows a second.`,
  )
  process.stdout.write(
    `Log in as ${emailOf(0)} to ${emailOf(customers - 1)} with the password “${PASSWORD}”; live tokens are in ${tokensFile}.\n`,
  )
} catch (error) {
  shown.fail()
  refuse(error instanceof Error ? error.message : String(error), 1)
}

function read(): Pick<Filling, 'url' | 'customers' | 'tokensFile'> {
  try {
    const { values } = parseArgs({
      options: { customers: { type: 'string', default: '' }, 'tokens-file': { type: 'string', default: '' } },
    })
    const url = process.env.DATABASE_URL ?? ''
    const { customers, 'tokens-file': tokensFile } = values
    if (!/^[1-9]\d{0,7}$/.test(customers))
      throw new Error('--customers takes a whole number from 1 to 99999999.')
    if (tokensFile === '') throw new Error('--tokens-file is missing.')
    if (url === '') throw new Error('DATABASE_URL is not set.')
    return { url, customers: Number(customers), tokensFile }
  } catch (error) {
    return refuse(`${(error as Error).message} Usage: ${USAGE}`, 2)
  }
}

interface Shown extends Pick<Filling, 'onProgress'> {
  end(text: string): void
  fail(): void
}

function asBar(): Shown {
  const bar = progress({ output: process.stderr, indicator: 'timer' })
  let reached = 0
  let isOver = false
  // Ctrl-C comes to the bar, which ends the process as if all were well.
  process.once('exit', () => {
    if (!isOver) process.exitCode = 130
  })
  bar.start('starting')
  return {
    onProgress(percent, doing) {
      bar.advance(percent - reached, `${percent} % ${doing}`)
      reached = percent
    },
    end(text) {
      isOver = true
      bar.stop(text)
    },
    fail() {
      isOver = true
      bar.error('Not filled.')
    },
  }
}

function asLines(): Shown {
  const print = (text: string) => process.stderr.write(`${text}\n`)
  return {
    onProgress(percent, doing) {
      if (doing !== 'copying rows' || percent % 5 === 0) print(`${percent} % ${doing}`)
    },
    end: print,
    fail() {},
  }
}

function refuse(problem: string, code: number): never {
  process.stderr.write(`fill: ${problem.replaceAll(/\s+/g, ' ')}\n`)
  process.exit(code)
}
