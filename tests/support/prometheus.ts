import { spawnSync } from 'node:child_process'
import parse from 'parse-prometheus-text-format'

type Labels = Readonly<Record<string, string>>

/** Metrics as a reader of their text understands them; what belongs to a histogram goes by `…_bucket`, `…_sum`, `…_count`. */
export interface ReadMetrics {
  /** The types by the names of the metrics. */
  readonly types: ReadonlyMap<string, string>
  /** The value under exactly these labels; null where there is none. */
  value(name: string, labels?: Labels): number | null
  /** The labels of each value. */
  labels(name: string): readonly Labels[]
}

const HISTOGRAM = /^# TYPE \w+ histogram$\n/gm

/** Reads metrics with a parser that is not of the library that wrote them. */
export function readMetrics(text: string): ReadMetrics {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  // Of a histogram the parser would put all labels into one.
  const families = parse(text.replace(HISTOGRAM, ''))
  const of = (name: string) => families.flatMap((family) => (family.name === name ? [...family.metrics] : []))
  return {
    types,
    value(name, labels = {}) {
      const found = of(name).find((one) => isSame(one.labels ?? {}, labels))
      return found === undefined ? null : Number(found.value)
    },
    labels: (name) => of(name).map(({ labels = {} }) => labels),
  }
}

/** Whether the program is on this machine. */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0
}

/** What `promtool check metrics` has to say against the text; nothing where it is clean. */
export function promtoolFaults(text: string): string {
  const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  return status === 0 ? '' : `${status}: ${stderr}`
}

function isSame(some: Labels, others: Labels): boolean {
  const names = Object.keys(some)
  return names.length === Object.keys(others).length && names.every((name) => some[name] === others[name])
}
