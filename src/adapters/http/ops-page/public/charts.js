/* global uPlot */
import { CHARTS } from './chart-list.js'
import { element } from './element.js'

const HEIGHT = 136
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const EXACT = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const FONT = '11px system-ui, "DejaVu Sans", sans-serif'
const NOTHING = '–'

const group = uPlot.sync('moment')
const readColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Draws the charts into `place`. All show the same moment: that of the slider, the one under the pointer, or the last. */
export function createCharts({ place, slider, moment }) {
  let samples = { at_ms: [] }
  let spanMs = 0
  let events = []
  /** Null for the last sample, which changes. */
  let chosen = null
  /** The sample under the pointer, while it is over a chart. */
  let pointed = null
  /** Whether the slider was moved after the pointer, which may rest on a chart. */
  let isSteered = false
  const cards = CHARTS.map((chart) => createCard(chart, { range, onPointed, events: () => events }))
  place.replaceChildren(...cards.map(({ card }) => card))

  new ResizeObserver(() => {
    for (const { resize } of cards) resize()
  }).observe(place)
  for (const preference of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
    matchMedia(preference).addEventListener('change', () => {
      for (const { redraw } of cards) redraw()
    })
  }
  slider.addEventListener('input', () => {
    const at = Number(slider.value)
    chosen = at < samples.at_ms.length - 1 ? samples.at_ms[at] : null
    isSteered = true
    pointed = null
    point()
    show()
  })

  place.addEventListener('pointermove', () => {
    isSteered = false
  })

  return {
    /** The first and the last second of the charts. */
    range,
    /** Shows the samples and marks the events. The charts cover `allMs` milliseconds. */
    update(table, allMs, marked) {
      samples = table
      events = marked
      spanMs = allMs
      const last = Math.max(0, samples.at_ms.length - 1)
      slider.max = String(last)
      // A chosen moment stays until it leaves the charts. Another process has samples of other moments.
      const at = chosen === null ? -1 : samples.at_ms.findLastIndex((ms) => ms <= chosen)
      chosen = samples.at_ms[at] ?? null
      slider.value = String(chosen === null ? last : at)
      for (const { draw } of cards) draw(samples)
      if (pointed === null) point()
      show()
    },
  }

  function range() {
    const to = (samples.at_ms.at(-1) ?? Date.now()) / 1000
    return [to - spanMs / 1000, to]
  }

  /** Charts report a chosen moment like a pointer. Only the chart under the pointer counts. */
  function onPointed(plot) {
    if (isSteered) return
    const under = place.querySelector('.u-over:hover')
    if (under !== null && under !== plot.over) return
    const at = under === null ? null : (plot.cursor.idx ?? null)
    if (at === pointed) return
    pointed = at
    // Afterwards, when the chart has synchronized the others.
    if (at === null) queueMicrotask(point)
    show()
  }

  function point() {
    for (const { point } of cards) point(chosen === null ? null : chosen / 1000)
  }

  /** Shows the numbers of one sample: the one under the pointer, the chosen one, or the last. */
  function show() {
    const last = samples.at_ms.length - 1
    const at = Math.min(last, pointed ?? (chosen === null ? last : Number(slider.value)))
    const label = at === last ? 'now' : EXACT.format(samples.at_ms[at])
    moment.textContent = label
    slider.setAttribute('aria-valuetext', label)
    const numbers = Object.fromEntries(
      Object.entries(samples).map(([name, column]) => [name, column[at] ?? null]),
    )
    for (const { showNumbers } of cards) showNumbers(numbers)
  }
}

function createCard(chart, { range, onPointed, events }) {
  const { title, format, series, empty, headline, detail } = chart
  const id = `chart-${title.toLowerCase().replaceAll(' ', '-')}`
  const values = series.map(() => element('dd', { textContent: NOTHING }))
  const big = element('strong', { textContent: NOTHING })
  const small = element('span', { className: 'quiet' })
  const drawing = element('div', { className: 'drawing', 'aria-hidden': 'true' })
  const note = element('p', { className: 'quiet note', textContent: empty ?? '', hidden: true })
  const card = element(
    'article',
    { className: 'card chart', 'aria-labelledby': id },
    element('h3', { id, textContent: title }),
    element('p', { className: 'headline' }, big, ' ', small),
    element('div', { className: 'frame' }, drawing, note),
    element(
      'dl',
      {},
      series.map(({ label, color, dashed }, at) =>
        element(
          'div',
          {},
          element(
            'dt',
            {},
            element('span', { className: `swatch ${color.slice(2)}${dashed ? ' dashed' : ''}` }),
            label,
          ),
          values[at],
        ),
      ),
    ),
  )
  const plot = new uPlot(
    plotOptions(chart, { range, onPointed, events }),
    [[], ...series.map(() => [])],
    drawing,
  )

  return {
    card,
    draw(samples) {
      const columns = series.map(({ column, times = 1 }) =>
        (samples[column] ?? []).map((value) => (value === null ? null : value * times)),
      )
      note.hidden = empty === undefined || columns.some((column) => column.some((value) => value !== null))
      // Immediately: the position of a moment in the chart is read next.
      plot.batch(() => plot.setData([samples.at_ms.map((ms) => ms / 1000), ...columns]))
    },
    showNumbers(numbers) {
      big.textContent = headline(numbers) ?? NOTHING
      small.textContent = detail(numbers) ?? ''
      for (const [at, { column, times = 1 }] of series.entries()) {
        const value = numbers[column] ?? null
        values[at].textContent = value === null ? NOTHING : format(value * times)
      }
    },
    point(seconds) {
      plot.setCursor({ left: seconds === null ? -10 : plot.valToPos(seconds, 'x'), top: 0 }, false)
    },
    resize() {
      if (drawing.clientWidth > 0) plot.setSize({ width: drawing.clientWidth, height: HEIGHT })
    },
    redraw: () => plot.redraw(false, true),
  }
}

function plotOptions(
  { format, series, least = 0, most, stepped = false, ticks },
  { range, onPointed, events },
) {
  return {
    width: 320,
    height: HEIGHT,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 6 },
      sync: { key: group.key, setSeries: false },
    },
    scales: {
      x: { range },
      y: { range: (_plot, _min, max) => [0, most ?? Math.max(least, (max ?? 0) * 1.15)] },
    },
    axes: [
      axis({
        space: 56,
        size: 24,
        values: (_plot, splits) => splits.map((seconds) => TIME.format(seconds * 1000)),
      }),
      axis({
        space: 26,
        // As wide as `10,000 /min`.
        size: 72,
        values: (_plot, splits) => splits.map(format),
        ...(ticks !== undefined && { splits: ticks }),
      }),
    ],
    series: [
      {},
      ...series.map(({ color, filled = false, dashed = false }) => ({
        stroke: () => readColor(color),
        width: 1.5,
        // A value between two gaps has no line.
        points: { show: true, size: 4, filter: alone, fill: () => readColor(color) },
        ...(filled && { fill: () => `${readColor(color)}1f` }),
        ...(dashed && { dash: [4, 3] }),
        ...(stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
      })),
    ],
    hooks: { setCursor: [onPointed], drawClear: [(plot) => drawEvents(plot, events())] },
  }
}

const EVENT_COLORS = { bad: '--red', good: '--green', neutral: '--grey' }

/** Draws a vertical line for each event, behind the series. */
function drawEvents(plot, events) {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { at_ms, kind } of events) {
    const x = plot.valToPos(at_ms / 1000, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = readColor(EVENT_COLORS[kind])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** Returns the indexes of the values whose neighbours are both missing. */
function alone(plot, at) {
  const values = plot.data[at]
  return values.flatMap((value, index) =>
    value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null
      ? [index]
      : [],
  )
}

function axis(more) {
  return {
    font: FONT,
    stroke: () => readColor('--quiet'),
    grid: { stroke: () => readColor('--line'), width: 1 },
    ticks: { show: false },
    ...more,
  }
}
