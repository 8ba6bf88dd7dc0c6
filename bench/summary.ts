import type { Bar } from './chart.ts'
import type { Experiment, Findings, Goal, Part, Table } from './part.ts'
import type { Samples } from './samples.ts'

/** The summary of a part on all versions of Node. */
export interface Summary {
  readonly title: string
  readonly about: string
  readonly rounds: number
  readonly tables: readonly Table[]
  readonly goals: readonly NodeGoal[]
  readonly bars?: readonly Bar[]
}

/** A goal with the version of Node on which it was measured. */
export interface NodeGoal extends Goal {
  readonly node: string
}

/** The last summary of each part, of one release. */
export interface Results {
  readonly version: string
  readonly parts: Readonly<Record<string, Summary & { readonly where: string }>>
}

/** Joins the findings on each version of Node: each table gets a first column with the version. */
export function summarize(
  { title }: Pick<Part, 'title'>,
  { about, report }: Pick<Experiment, 'about' | 'report'>,
  samplesByNode: ReadonlyMap<string, Samples>,
  rounds: number,
): Summary {
  const findings = [...samplesByNode].map(([node, samples]) => [node, report(samples)] as const)
  const [, first = { tables: [], goals: [] } as Findings] = findings[0] ?? []
  return {
    title,
    about,
    rounds,
    tables: first.tables.map(({ head }, index) => ({
      head: ['Node', ...head],
      rows: findings.flatMap(([node, { tables }]) =>
        (tables[index]?.rows ?? []).map((row) => [node, ...row]),
      ),
    })),
    goals: findings.flatMap(([node, { goals }]) => goals.map((goal) => ({ ...goal, node }))),
    ...(first.bars && { bars: first.bars }),
  }
}

/** Adds the figures of the versions of Node that this run did not measure, so that each may be measured on its own. */
export function withOtherNodes(summary: Summary, earlier: Summary | undefined): Summary {
  const { tables, goals } = summary
  const measured = new Set([
    ...goals.map(({ node }) => node),
    ...tables.flatMap(({ rows }) => rows.map(([node = '']) => node)),
  ])
  const merge = <T>(now: readonly T[], before: readonly T[] = [], node: (item: T) => string) =>
    [...before.filter((item) => !measured.has(node(item))), ...now].toSorted((a, b) =>
      node(a).localeCompare(node(b), 'en', { numeric: true }),
    )
  return {
    ...summary,
    tables: tables.map(({ head, rows }, index) => ({
      head,
      rows: merge(rows, earlier?.tables[index]?.rows, ([node = '']) => node),
    })),
    goals: merge(goals, earlier?.goals, ({ node }) => node),
  }
}
