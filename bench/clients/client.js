// An HTTP client for measurements. Takes a JSON file `{ url, seconds, warmSeconds, streams }` and prints a result for each
// stream. A stream has:
//   requests       whole requests as text; connection i sends i, i + connections, …
//   connections    the number of connections, each with one request at a time
//   status         the expected status (200)
//   ratePerSecond  open loop: requests start at this rate and wait for a free connection; the wait counts as latency. Without
//                  it, closed loop: each connection sends its next request after a response
//   isOnce         stops after every request was sent once, however long that takes
//   isRetried      waits a second after a 503, which counts as refused, not as failed
//   pipelined      the number of requests that a connection sends at once
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

const { url, seconds, warmSeconds, streams } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const { hostname, port } = new URL(url)
const startMs = performance.now()
const measuredFromMs = startMs + warmSeconds * 1000
const endMs = measuredFromMs + seconds * 1000
const results = Object.entries(streams).map(async ([name, stream]) => [name, await run(stream)])
process.stdout.write(JSON.stringify(Object.fromEntries(await Promise.all(results))))

async function run({ requests, connections: count, status: expected = 200, pipelined = 1, ...stream }) {
  const { ratePerSecond, isOnce = false, isRetried = false } = stream
  const latencies = createHistogram({ figures: 3 })
  const counts = { requests: 0, failed: 0, refused: 0 }
  const connections = Array.from({ length: count }, createConnection)
  await (ratePerSecond === undefined
    ? Promise.all(connections.map(closedLoop))
    : openLoop(connections, ratePerSecond))
  const elapsedMs = performance.now() - measuredFromMs
  for (const { close } of connections) close()
  const ms = (percentile) => latencies.percentile(percentile) / 1000
  return {
    ...counts,
    perSecond: (counts.requests / (isOnce ? elapsedMs : seconds * 1000)) * 1000,
    p50Ms: ms(50),
    p99Ms: ms(99),
    p999Ms: ms(99.9),
  }

  async function closedLoop({ send }, index) {
    for (let at = index; performance.now() < endMs || isOnce; at += count) {
      if (at >= requests.length && isOnce) return
      const fromMs = performance.now()
      const statuses = await new Promise((done) => send(requests[at % requests.length], pipelined, done))
      for (const status of statuses) record(status, fromMs)
      if (isRetried && statuses[0] === 503) await sleep(1000)
    }
  }

  function openLoop(free, rate) {
    const total = Math.floor(((endMs - startMs) / 1000) * rate)
    let sent = 0
    let due = 0
    // The times at which requests were found due, oldest first. An index, because `shift` moves all of a long backlog.
    let dueAtMs = []
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const nowMs = performance.now()
        for (const now = Math.min(total, ((nowMs - startMs) / 1000) * rate); due < now; due++)
          dueAtMs.push(nowMs)
        sendDue()
        if (sent < total || free.length < count) return
        clearInterval(timer)
        resolve()
      }, 1)
    })

    function sendDue() {
      while (sent < due && free.length > 0) {
        const connection = free.pop()
        const fromMs = dueAtMs[dueAtMs.length - (due - sent)]
        connection.send(requests[sent++ % requests.length], 1, ([status]) => {
          record(status, fromMs)
          free.push(connection)
          sendDue()
        })
      }
      if (sent === due) dueAtMs = []
    }
  }

  function record(status, fromMs) {
    const nowMs = performance.now()
    // A closed loop counts what ends in the measured time, an open loop what begins in it.
    const countedMs = ratePerSecond === undefined ? nowMs : fromMs
    if (countedMs < measuredFromMs || (countedMs > endMs && !isOnce)) return
    if (isRetried && status === 503) counts.refused++
    else if (status !== expected) counts.failed++
    else {
      counts.requests++
      latencies.record(Math.max(1, Math.round((nowMs - fromMs) * 1000)))
    }
  }
}

/** A connection that opens on demand. `done` gets the statuses; 0 stands for a response that did not arrive. */
function createConnection() {
  let socket
  let received = ''
  let statuses = []
  let expected = 0
  let respond
  return {
    send(text, times, done) {
      socket ??= open()
      statuses = []
      expected = times
      respond = done
      socket.write(times === 1 ? text : text.repeat(times), 'latin1')
    },
    close: () => socket?.destroy(),
  }

  function open() {
    const opened = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1')
    opened.on('error', () => {})
    opened.on('data', (text) => {
      received += text
      for (let end = responseEnd(received); end > 0; end = responseEnd(received)) {
        statuses.push(Number(received.slice(9, 12)))
        received = received.slice(end)
      }
      if (statuses.length >= expected) ended()
    })
    opened.on('close', () => {
      socket = undefined
      received = ''
      while (statuses.length < expected) statuses.push(0)
      ended()
    })
    return opened
  }

  function ended() {
    const done = respond
    respond = undefined
    done?.(statuses)
  }
}

/** Returns the length of the first response, or 0 while it is incomplete. */
function responseEnd(text) {
  const head = text.indexOf('\r\n\r\n') + 4
  if (head < 4) return 0
  const length = /\r\ncontent-length: (\d+)/i.exec(text)
  if (length !== null) return text.length >= head + Number(length[1]) ? head + Number(length[1]) : 0
  const last = text.indexOf('\r\n0\r\n\r\n', head - 2)
  return last === -1 ? 0 : last + 7
}
