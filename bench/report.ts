import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, measuredWhere } from '../tests/support/document.ts'
import { barChart } from './chart.ts'
import { loadGenerator } from './load.ts'
import type { Table } from './part.ts'
import { isPinned } from './processes.ts'
import { type NodeGoal, type Results, type Summary, withOtherNodes } from './summary.ts'

const ROOT = join(import.meta.dirname, '..')
const RESULTS = join(import.meta.dirname, 'results.json')
const REPORTS = join(ROOT, 'docs/reports')

export function printSummary({ title, about, tables, goals }: Summary): void {
  const shown = goals.length > 0 ? [...tables, goalTable(goals)] : tables
  process.stdout.write(`\n${title}\n\n${about}\n\n${shown.map(markdown).join('\n\n')}\n`)
}

/** Stores the summary of a part in `results.json`, and writes the page of this release and the list of all pages. */
export async function writeReport(id: string, summary: Summary, databaseUrl: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const stored: Results | null = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : null
  const earlier = stored !== null && stored.version === version ? stored.parts : {}
  const where = await measuredWhere(databaseUrl)
  const parts = { ...earlier, [id]: { ...withOtherNodes(summary, earlier[id]), where } }
  writeFileSync(RESULTS, `${JSON.stringify({ version, parts } satisfies Results, null, 2)}\n`)
  if (summary.bars) {
    const chart = barChart(chartTitle(summary), 'requests per second', summary.bars)
    writeFileSync(join(REPORTS, chartFile(version, id)), chart)
  }
  writeFileSync(join(REPORTS, `benchmark-${version}.md`), page({ version, parts }))
  writeFileSync(join(REPORTS, 'benchmark.md'), index())
}

/** Returns the page of a release, missed goals first. */
export function page({ version, parts }: Results): string {
  const goals = Object.values(parts).flatMap((part) => part.goals)
  const missed = goals.filter(({ isMet }) => !isMet)
  const met = goals.filter(({ isMet }) => isMet)
  const sections = Object.entries(parts).map(([id, part]) => {
    const chart = part.bars ? `![${chartTitle(part)}](${chartFile(version, id)})\n\n` : ''
    const shown = part.tables.map((table) => `${markdown(table)}\n\n`).join('')
    return `## ${part.title}\n\n${part.about}\n\n${chart}${shown}Measured on ${part.where}; ${part.rounds} rounds.\n`
  })
  return `# Benchmark of Latchkey ${version}

Written by \`npm run bench\`; the figures are also in \`bench/results.json\`.

## Missed goals

${missed.length > 0 ? markdown(goalTable(missed)) : 'None.'}

## Goals met

${met.length > 0 ? markdown(goalTable(met)) : 'None.'}

## Method

- Each figure is a median, with its 95 % interval in parentheses (order statistics of the median; with fewer than six rounds, the
  range).
- Each round starts a fresh process of each candidate, in alternating order, and warms it up before it measures. Two processes of
  the same program differ by up to a quarter in throughput, because code and heap lie elsewhere in memory.
- A ratio compares figures of one round.
- Settings are the defaults, unless a part names others, with \`NODE_ENV=production\` and no flags of Node, except for \`--import bench/probe.js\`,
  which reads the heap on request.
- Load: \`${loadGenerator}\`, and \`bench/clients/client.js\` where requests start by the clock. ${isPinned ? 'Where a part does not say otherwise, server and load have a processor each.' : 'No process is pinned to a processor.'}

${sections.join('\n')}`
}

function index(): string {
  const pages = readdirSync(REPORTS).filter((name) => /^benchmark-\d.*\.md$/.test(name))
  const links = pages
    .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => `- [Latchkey ${name.slice('benchmark-'.length, -'.md'.length)}](${name})`)
  return `# Benchmark\n\nEach release has a page of measurements, with the goals that it missed first.\n\n${links.join('\n')}\n`
}

function chartTitle({ title }: Pick<Summary, 'title'>): string {
  return `${title}: me, 64 connections, one process on one processor`
}

function chartFile(version: string, id: string): string {
  return `benchmark-${version}-${id}.svg`
}

function goalTable(goals: readonly NodeGoal[]): Table {
  return {
    head: ['goal', 'Node', 'measurement', 'target', 'measured', 'met'],
    rows: goals.map(({ id, node, what, target, measured, isMet }) => [
      id,
      node,
      what,
      target,
      measured,
      isMet ? 'yes' : 'no',
    ]),
  }
}

function markdown({ head, rows }: Table): string {
  return markdownTable(head, rows)
}
