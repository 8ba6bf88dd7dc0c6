import { randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { VerifierCore } from './verifier-core.ts'

/** The time between two heartbeats, in milliseconds. */
export const VERIFIER_BEAT_MS = 250
/** Each heartbeat gets a line, so a connection that is silent for longer is lost. */
const MAX_SILENCE_MS = 2000
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 1000

/** What happened to the connection, for the program's log. No event contains a secret. */
export type VerifierEvent =
  | { readonly kind: 'connected'; readonly url: string }
  | { readonly kind: 'lost'; readonly url: string; readonly reason: string }

/** Keeps one connection to any of the instances until the signal aborts. The pause between attempts grows, with jitter. */
export async function keepConnected(
  core: VerifierCore,
  urls: readonly string[],
  secret: string,
  { onEvent, signal }: { readonly onEvent: (event: VerifierEvent) => void; readonly signal: AbortSignal },
): Promise<void> {
  const headers = {
    Authorization: `Bearer ${secret}`,
    Connection: 'Upgrade',
    Upgrade: 'latchkey-verifier/1',
    'Latchkey-Verifier': randomUUID(),
  }
  for (let attempt = 0, failures = 0; !signal.aborted; attempt++) {
    const url = urls[attempt % urls.length] as string
    const beganMs = performance.now()
    const reason = await new Promise<string>((onLost) => {
      const open = url.startsWith('https:') ? httpsRequest : httpRequest
      const opening = open(`${url}/verifiers`, { headers, agent: false, signal, timeout: MAX_SILENCE_MS })
        .on('timeout', () => opening.destroy(new Error('There was no response in time.')))
        .on('error', ({ message }) => onLost(message))
        .on('response', ({ statusCode }) => {
          opening.destroy()
          onLost(`Latchkey refused the connection with status ${statusCode}.`)
        })
        .on('upgrade', (_, socket, head) => {
          socket.setTimeout(0)
          socket.unshift(head)
          exchangeLines(core, socket, signal, onLost)
          onEvent({ kind: 'connected', url })
        })
        .end()
    })
    if (signal.aborted) return
    onEvent({ kind: 'lost', url, reason })
    failures = performance.now() - beganMs > MAX_SILENCE_MS ? 0 : failures + 1
    const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2)
    await sleep(pauseMs, null, { signal }).catch(() => {})
  }
}

/** Runs the protocol on a new connection. Once it is lost, nothing of it is read any more. */
function exchangeLines(
  core: VerifierCore,
  socket: Socket,
  signal: AbortSignal,
  onLost: (reason: string) => void,
): void {
  let isOpen = true
  let receivedMs = performance.now()
  core.connected((line) => socket.write(`${line}\n`))
  const beating = setInterval(() => {
    if (performance.now() - receivedMs > MAX_SILENCE_MS) lose('The connection is silent.')
    else core.beat()
  }, VERIFIER_BEAT_MS)
  signal.addEventListener('abort', leave, { once: true })
  socket
    .setNoDelay(true)
    .on('error', ({ message }) => lose(message))
    // Before the lines: half a line may come before the end, and is none.
    .on('end', () => lose('Latchkey closed the connection.'))
    .on('close', () => lose('Latchkey closed the connection.'))
  createInterface({ input: socket })
    // It emits the errors of the socket again.
    .on('error', () => {})
    .on('line', (line) => {
      receivedMs = performance.now()
      try {
        if (isOpen) core.received(line)
      } catch (error) {
        lose((error as Error).message)
      }
    })

  function leave(): void {
    core.leave()
    socket.end()
    lose('The verifier was closed.')
  }

  function lose(reason: string): void {
    if (!isOpen) return
    isOpen = false
    clearInterval(beating)
    signal.removeEventListener('abort', leave)
    core.lost()
    if (signal.aborted) socket.destroySoon()
    else socket.destroy()
    onLost(reason)
  }
}
