import { createCharts } from './charts.js'
import { createCustomerSearch } from './customer.js'
import { showEvents } from './events.js'
import { createInstanceNotice } from './instances.js'
import { ask, Refused, useToken } from './service.js'
import { showProblems, showVerdict } from './verdict.js'
import { showVerifiers } from './verifiers.js'

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' })
const RETRY_MS = 2000
/** The number of missing samples after which the page shows a warning. */
const STALE_AFTER = 4
const byId = (id) => document.getElementById(id)

const search = createCustomerSearch(closeIfRefused)
let charts = null
let timer = 0
let isOpen = false
/** When the service stopped responding; null while it responds. */
let silentSinceMs = null
const noteInstance = createInstanceNotice(byId('instances'))
/** Counts how often the page was opened or closed: a response to an earlier request is not shown. */
let opening = 0
/** The newest sample that was shown, and when it was first shown. */
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
    byId('refused').textContent = error instanceof Refused ? error.message : 'The service did not respond.'
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
  charts ??= createCharts({ place: byId('charts'), slider: byId('slider'), moment: byId('moment') })
  show(live)
  byId('text').focus({ preventScroll: true })
}

function close(message) {
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
  silentSinceMs = null
  noteInstance.clear()
  showVerdict(null)
  byId('refused').textContent = message
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
    silentSinceMs ??= Date.now()
    showVerdict([
      {
        severity: 'page',
        title: 'The service does not respond',
        effect: 'The page keeps trying.',
        since_ms: silentSinceMs,
      },
    ])
    again(RETRY_MS)
  }
}

function show(live) {
  const { instance, version, every_ms, keep, samples, problems, events, verifiers } = live
  silentSinceMs = null
  const lastMs = samples.at_ms.at(-1)
  byId('source').textContent =
    `${instance} · ${version} · ${lastMs === undefined ? 'no sample yet' : TIME.format(lastMs)}`
  const nowMs = performance.now()
  if (lastMs !== newest.atMs) newest = { atMs: lastMs, sinceMs: nowMs }
  // The service responds and does not measure: one of its workers may be blocked.
  const isStale = nowMs - newest.sinceMs > STALE_AFTER * every_ms
  const all = isStale ? [...problems, stale(lastMs)] : problems
  showVerdict(all)
  showProblems(byId('problems'), all)
  noteInstance.seen(live)
  showVerifiers(byId('verifiers'), byId('verifier-list'), verifiers)
  charts.update(samples, every_ms * keep, events)
  showEvents(byId('events'), byId('strip'), events, charts.range())
  again(every_ms)
}

function stale(lastMs) {
  return {
    severity: 'ticket',
    title: 'No new samples',
    effect: 'The charts are out of date: a process may be blocked.',
    since_ms: lastMs ?? Date.now(),
  }
}

/** A hidden page does not refresh. */
function again(ms) {
  clearTimeout(timer)
  timer = setTimeout(() => !document.hidden && refresh(), ms)
}

/** A reload of the settings may remove the token, or its scope. */
function closeIfRefused(error) {
  if (error.status !== 401 && error.reason !== 'insufficient_scope') return false
  close(error.message)
  return true
}
