import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, measuredWhere } from '../tests/support/document.ts'
import { barChart } from './chart.ts'
import type { Findings, Goal, Part, Table } from './part.ts'

const RESULTS = join(import.meta.dirname, 'results.json')
const DOCUMENTS = join(import.meta.dirname, '../docs/reports')

/** The findings of each part, when it last ran whole, and where. */
type Results = Record<string, Findings & { readonly title: string; readonly where: string }>

export function printFindings({ title }: Pick<Part, 'title'>, { about, tables, goals }: Findings): void {
  process.stdout.write(`\n${title}\n\n${about}\n`)
  for (const table of tables) process.stdout.write(`\n${markdownOf(table)}\n`)
  if (goals.length > 0) process.stdout.write(`\n${markdownOf(tableOf(goals))}\n`)
}

/** Writes a part's findings beside those of the others, and the document anew from all of them. */
export async function keepResults(
  { id, title }: Part,
  findings: Findings,
  databaseUrl: string,
): Promise<void> {
  const results: Results = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
  results[id] = { title, where: await measuredWhere(databaseUrl), ...findings }
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(join(DOCUMENTS, 'benchmark.md'), documentOf(results))
  if (findings.chart) {
    const { title, unit, bars } = findings.chart
    writeFileSync(join(DOCUMENTS, chartOf(id)), barChart(title, unit, bars))
  }
}

function documentOf(results: Results): string {
  const parts = Object.entries(results).map(([id, { title, where, about, tables, goals, chart }]) => {
    const shown = goals.length > 0 ? [...tables, tableOf(goals)] : tables
    const picture = chart ? `![${chart.title}](${chartOf(id)})\n\n` : ''
    return `## ${title}\n\n${about}\n\n${picture}${shown.map(markdownOf).join('\n\n')}\n\nMeasured on ${where}.\n`
  })
  return `# Benchmark\n\nWritten by \`npm run bench\`; the figures are also in \`bench/results.json\`.\n\n${parts.join('\n')}`
}

function chartOf(id: string): string {
  return `benchmark-${id}.svg`
}

function tableOf(goals: readonly Goal[]): Table {
  return {
    head: ['goal', 'measurement', 'target', 'measured', 'met'],
    rows: goals.map(({ id, what, goal, measured, isReached }) => [
      id,
      what,
      goal,
      measured,
      isReached ? 'yes' : 'no',
    ]),
  }
}

function markdownOf({ head, rows }: Table): string {
  return markdownTable(head, rows)
}
