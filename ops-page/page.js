import { makeCharts } from './charts.js'
import { makeCustomerSearch } from './customer.js'
import { ask, Refused, useToken } from './service.js'

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const RETRY_MS = 2000
/** Samples that are missing. */
const STANDS_AFTER = 4
const byId = (id) => document.getElementById(id)

const search = makeCustomerSearch(closeIfRefused)
let charts = null
let timer = 0
let isOpen = false
/** What comes back after the page was closed, or opened anew, is not shown. */
let opening = 0
/** The newest sample that was shown, and since when. */
let newest = { atMs: 0, sinceMs: 0 }

byId('opening').addEventListener('submit', async (event) => {
  event.preventDefault()
  const turn = ++opening
  byId('refused').textContent = ''
  useToken(byId('token').value.trim())
  try {
    const live = await ask('live')
    if (turn === opening) open(live)
  } catch (error) {
    if (turn !== opening) return
    useToken('')
    byId('refused').textContent = error instanceof Refused ? error.message : 'The service does not answer.'
  }
})
byId('close').addEventListener('click', () => close(''))
document.addEventListener('visibilitychange', () => {
  if (isOpen && !document.hidden) refresh()
})

function open(live) {
  isOpen = true
  byId('token').value = ''
  for (const [id, hidden] of [
    ['opening', true],
    ['opened', false],
    ['close', false],
  ])
    byId(id).hidden = hidden
  charts ??= makeCharts({ place: byId('charts'), slider: byId('slider'), moment: byId('moment') })
  show(live)
  byId('charts').focus({ preventScroll: true })
}

function close(why) {
  opening++
  isOpen = false
  clearTimeout(timer)
  useToken('')
  search.clear()
  for (const [id, hidden] of [
    ['opening', false],
    ['opened', true],
    ['close', true],
  ])
    byId(id).hidden = hidden
  byId('source').textContent = ''
  state('Closed', '')
  byId('refused').textContent = why
  byId('token').focus()
}

async function refresh() {
  clearTimeout(timer)
  const turn = opening
  try {
    const live = await ask('live')
    if (turn === opening) show(live)
  } catch (error) {
    if (turn !== opening || closeIfRefused(error)) return
    state('No answer: trying again', 'bad')
    again(RETRY_MS)
  }
}

function show({ instance, version, every_ms, keep, samples }) {
  const lastMs = samples.at_ms.at(-1)
  byId('source').textContent =
    `${instance} · ${version} · ${lastMs === undefined ? 'no sample yet' : TIME.format(lastMs)}`
  const nowMs = performance.now()
  if (lastMs !== newest.atMs) newest = { atMs: lastMs, sinceMs: nowMs }
  // The service answers, and does not measure: a worker of it may stand still.
  const stands = nowMs - newest.sinceMs > STANDS_AFTER * every_ms
  state(stands ? 'No new samples' : 'Live', stands ? 'bad' : 'good')
  charts.update(samples, every_ms * keep)
  again(every_ms)
}

/** Nobody looks at a page that is hidden. */
function again(ms) {
  clearTimeout(timer)
  timer = setTimeout(() => !document.hidden && refresh(), ms)
}

function closeIfRefused(error) {
  if (!(error instanceof Refused) || error.status !== 401) return false
  close(error.message)
  return true
}

/** Said only when it changes: it is read out. */
function state(text, kind) {
  const place = byId('state')
  if (place.textContent !== text) place.textContent = text
  place.className = `state ${kind}`
}
