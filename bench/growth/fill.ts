/** Fills an empty migrated database with customers that have ten tokens each; see `USAGE`. */
import { parseArgs } from 'node:util'
import { progress } from '@clack/prompts'
import { format } from '../statistics.ts'
import { type Filling, fillDatabase, PASSWORD } from './fill-database.ts'
import { emailOf } from './rows.ts'

const USAGE =
  'DATABASE_URL=postgres://… node --import tsx bench/growth/fill.ts --customers 1000000 --tokens-file tokens.txt'

const { url, customers, tokensFile } = read()
const display = process.stderr.isTTY ? progressBar() : progressLines()
try {
  const filled = await fillDatabase({ url, customers, tokensFile, onProgress: display.onProgress })
  const { rows, seconds, rowsPerSecond } = filled
  display.end(
    `${format(rows)} rows in ${format(seconds, 1)} s, copied at ${format(rowsPerSecond)} rows a second.`,
  )
  process.stdout.write(
    `Log in as ${emailOf(0)} to ${emailOf(customers - 1)} with the password “${PASSWORD}”; active tokens are in ${tokensFile}.\n`,
  )
} catch (error) {
  display.fail()
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

interface Display extends Pick<Filling, 'onProgress'> {
  end(text: string): void
  fail(): void
}

function progressBar(): Display {
  const bar = progress({ output: process.stderr, indicator: 'timer' })
  let reached = 0
  let hasEnded = false
  // The bar handles Ctrl-C and exits with 0.
  process.once('exit', () => {
    if (!hasEnded) process.exitCode = 130
  })
  bar.start('starting')
  return {
    onProgress(percent, step) {
      bar.advance(percent - reached, `${percent} % ${step}`)
      reached = percent
    },
    end(text) {
      hasEnded = true
      bar.stop(text)
    },
    fail() {
      hasEnded = true
      bar.error('Not filled.')
    },
  }
}

function progressLines(): Display {
  const print = (text: string) => process.stderr.write(`${text}\n`)
  return {
    onProgress(percent, step) {
      if (step !== 'copying rows' || percent % 5 === 0) print(`${percent} % ${step}`)
    },
    end: print,
    fail() {},
  }
}

function refuse(problem: string, code: number): never {
  process.stderr.write(`fill: ${problem.replaceAll(/\s+/g, ' ')}\n`)
  process.exit(code)
}
