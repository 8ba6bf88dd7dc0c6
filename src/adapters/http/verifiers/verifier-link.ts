import type { Socket } from 'node:net'
import type {
  DisconnectReason,
  VerifierConnection,
  VerifierSession,
} from '../../../application/verifiers/verifier-session.ts'
import type { VerifierLookups } from './verifier-lookups.ts'

/** The longest line that a verifier sends has 100 ids of tokens. */
const MAX_LINE_BYTES = 8192
/** A verifier that does not read is disconnected when this much waits for it. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** Lookups of one verifier in progress; later lines wait. */
const MAX_LOOKUPS = 256
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** A verifier sends a heartbeat every 250 ms. */
const MAX_SILENCE_MS = 10_000

/** The server's end of one connection of a verifier, after the upgrade: lines of text in both directions. */
export class VerifierLink implements VerifierConnection {
  readonly name: string
  readonly service: string
  readonly requester: VerifierConnection['requester']
  readonly isAllowed: () => boolean
  readonly #socket: Socket
  readonly #lookups: VerifierLookups
  #session: VerifierSession | null = null
  #rest = ''

  constructor(
    socket: Socket,
    lookups: VerifierLookups,
    { name, service, requester, isAllowed }: Omit<VerifierConnection, 'send' | 'close'>,
  ) {
    this.#socket = socket
    this.#lookups = lookups
    this.name = name
    this.service = service
    this.requester = requester
    this.isAllowed = isAllowed
  }

  /** Begins to read. `session` is already registered for forwarding. */
  start(session: VerifierSession): void {
    this.#session = session
    this.#socket
      .setNoDelay(true)
      .setTimeout(MAX_SILENCE_MS, () => this.#disconnect('silent'))
      .on('data', (chunk: Buffer) => this.#read(chunk.toString('latin1')))
      .once('end', () => this.#socket.destroy())
      .once('close', () => session.lost())
      .resume()
  }

  send(line: string): void {
    if (this.#socket.destroyed) return
    this.#socket.write(`${line}\n`)
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.#disconnect('slow_reader')
  }

  close(): void {
    this.#socket.destroy()
  }

  /** A lost session has acknowledged nothing: the lease of the verifier is waited out. */
  #disconnect(reason: DisconnectReason): void {
    this.#session?.disconnect(reason)
    // The session may have ended before its connection.
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#rest += text
    this.#handleLines()
  }

  #handleLines(): void {
    while (!this.#socket.destroyed) {
      if (this.#lookups.count >= MAX_LOOKUPS) {
        this.#socket.pause()
        return
      }
      const end = this.#rest.indexOf('\n')
      const isComplete = end !== -1 && end <= MAX_LINE_BYTES
      if (!isComplete && this.#rest.length <= MAX_LINE_BYTES) return
      const line = this.#rest.slice(0, end)
      this.#rest = this.#rest.slice(end + 1)
      if (!isComplete || !this.#handle(line.split(' '))) this.#disconnect('malformed')
    }
  }

  #handle([kind, ...words]: readonly string[]): boolean {
    const n = Number(words[0])
    const isNumbered = /^[1-9]\d{0,14}$/.test(words[0] ?? '')
    switch (kind) {
      case 'beat':
        if (isNumbered) this.#session?.beat(n)
        return isNumbered
      case 'seen':
        if (isNumbered) this.#session?.seen(n)
        return isNumbered
      case 'find':
        if (!isNumbered || !/^[0-9a-f]{64}$/.test(words[1] ?? '')) return false
        this.#lookups.find(n, words[1] as string, words[2], (line) => this.#found(line))
        return true
      case 'used':
        // One id that is no UUID would fail the writing of all uses.
        for (const id of words.slice(0, 100)) if (UUID.test(id)) this.#lookups.used(id)
        return true
      case 'bye':
        this.#session?.bye()
        this.#socket.destroy()
        return true
      default:
        return false
    }
  }

  #found(line: string): void {
    this.send(line)
    if (!this.#socket.isPaused() || this.#lookups.count >= MAX_LOOKUPS) return
    this.#socket.resume()
    this.#handleLines()
  }
}
