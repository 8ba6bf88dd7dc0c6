import { format } from './statistics.ts'

/** One bar of a chart. */
export interface Bar {
  readonly name: string
  readonly value: number
}

const WIDTH = 860
const BAR = 26
const GAP = 12
const LABELS = 300
const NUMBERS = 90
const TOP = 56

/** A chart of horizontal bars as SVG, readable on a light page and on a dark one. */
export function barChart(title: string, unit: string, bars: readonly Bar[]): string {
  const max = Math.max(...bars.map(({ value }) => value))
  const height = TOP + bars.length * (BAR + GAP) + GAP
  const rows = bars.map(({ name, value }, at) => {
    const y = TOP + at * (BAR + GAP)
    const length = Math.max(1, ((WIDTH - LABELS - NUMBERS - 16) * value) / max)
    const text = y + BAR / 2 + 5
    const fill = name.startsWith('Latchkey') ? '#0b7a4b' : '#8a94a6'
    return `  <text x="${LABELS - 12}" y="${text}" text-anchor="end">${escaped(name)}</text>
  <rect x="${LABELS}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="3" fill="${fill}"/>
  <text x="${(LABELS + length + 8).toFixed(1)}" y="${text}">${format(value)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="14" fill="#1c2330">
  <rect width="${WIDTH}" height="${height}" rx="8" fill="#ffffff"/>
  <text x="20" y="34" font-size="18" font-weight="600">${escaped(title)}</text>
  <text x="${WIDTH - 20}" y="34" text-anchor="end" fill="#5b6575">${escaped(unit)}</text>
${rows.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
