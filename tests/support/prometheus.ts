import { spawnSync } from 'node:child_process'
import parse from 'parse-prometheus-text-format'

type Labels = Readonly<Record<string, string>>

/** Metrics as a scraper parses them. The series of a histogram are named `…_bucket`, `…_sum`, `…_count`. */
export interface ReadMetrics {
  /** The metric types by name. */
  readonly types: ReadonlyMap<string, string>
  /** Returns the value of exactly these labels, or null. */
  value(name: string, labels?: Labels): number | null
  /** Returns the labels of each value. */
  labels(name: string): readonly Labels[]
}

const HISTOGRAM = /^# TYPE \w+ histogram$\n/gm

/** Parses metrics with a different library than the one that wrote them. */
export function readMetrics(text: string): ReadMetrics {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  // The parser would merge all labels of a histogram.
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

/** Whether promtool is installed. */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0
}

/** Returns the complaints of `promtool check metrics`, or an empty string. */
export function promtoolFaults(text: string): string {
  const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  return status === 0 ? '' : `${status}: ${stderr}`
}

function isSame(some: Labels, others: Labels): boolean {
  const names = Object.keys(some)
  return names.length === Object.keys(others).length && names.every((name) => some[name] === others[name])
}
