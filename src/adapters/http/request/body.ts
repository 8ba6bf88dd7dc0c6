import { ValidationFailed } from '../../../domain/errors.ts'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import { InvalidJson, PayloadTooLarge, UnsupportedMediaType } from '../errors.ts'
import { ClientGone } from '../server/client-gone.ts'
import type { Exchange } from '../server/exchange.ts'

/** Reads and parses the JSON body. Checks the media type before it reads the first byte. */
export async function readJson(exchange: Exchange): Promise<unknown> {
  const { declaredBytes } = exchange
  if (declaredBytes === 0) throw new InvalidJson()
  checkMediaType(exchange)
  checkDeclaredLength(exchange)
  const chunks: Buffer[] = []
  await read(exchange, (chunk) => chunks.push(chunk))
  return parse(chunks)
}

/** Discards the body of a route that needs none. Resolves when its size is known to be within the limit. */
export function dropBody(exchange: Exchange): MaybePromise<void> {
  checkDeclaredLength(exchange)
  // A body of a known length within the limit needs no wait: the parser skips it.
  if (exchange.declaredBytes === null) return read(exchange, () => {})
}

function checkDeclaredLength({ declaredBytes, bodyLimitBytes }: Exchange): void {
  if (declaredBytes !== null && declaredBytes > bodyLimitBytes) throw new PayloadTooLarge()
}

function checkMediaType({ request }: Exchange): void {
  const { rawHeaders, headers } = request
  const lines = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'content-type').length
  if (lines !== 1 || !isJsonInUtf8(headers['content-type'] ?? ''))
    throw new UnsupportedMediaType('media_type')
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new UnsupportedMediaType('coding')
}

/**
 * RFC 8259, section 9, lets a parser limit the nesting depth. A recursive function would overflow the stack on a body of a
 * few thousand levels, which takes a few kilobytes.
 */
const MAX_DEPTH = 100

const PARAMETER =
  /[\t ]*;[\t ]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[^"\\]|\\.)*"))?/y

/** RFC 9110, section 8.3.1: `application/json`, case-insensitive, with at most one charset, which is utf-8. */
function isJsonInUtf8(contentType: string): boolean {
  const type = /^application\/json/i.exec(contentType)
  if (type === null) return false
  let at = type[0].length
  let charset: string | null = null
  while (at < contentType.length) {
    PARAMETER.lastIndex = at
    const found = PARAMETER.exec(contentType)
    if (found === null) return contentType.slice(at).trim() === ''
    at = PARAMETER.lastIndex
    if (found[1]?.toLowerCase() === 'charset') {
      if (charset !== null) return false
      charset = (found[2] as string).replace(/^"|"$/g, '').toLowerCase()
    }
  }
  return charset === null || charset === 'utf-8'
}

function read(exchange: Exchange, take: (chunk: Buffer) => void): Promise<void> {
  const { request, response, bodyLimitBytes, bodyFailure } = exchange
  if (bodyFailure !== null) return Promise.reject(bodyFailure)
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    response.writeContinue()
  }
  // Only after this event loop turn: node reports a request before it has parsed the bytes that arrived with its head.
  const late = setImmediate(() => {
    exchange.bodyWasLate = true
  })
  return new Promise((resolve, reject) => {
    let bytes = 0
    exchange.rejectBody = fail
    request.on('data', onData).once('end', onEnd).once('error', onGone).once('close', onGone)

    function onData(chunk: Buffer): void {
      bytes += chunk.length
      if (bytes <= bodyLimitBytes) {
        take(chunk)
        return
      }
      // Set it now: a pipelined request behind this one must not begin before the rejection is handled.
      exchange.closes = true
      fail(new PayloadTooLarge())
    }
    function onEnd(): void {
      stop()
      resolve()
    }
    function onGone(): void {
      fail(new ClientGone())
    }
    function fail(error: Error): void {
      stop()
      reject(error)
    }
    function stop(): void {
      clearImmediate(late)
      exchange.rejectBody = null
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
  })
}

function parse(chunks: readonly Buffer[]): unknown {
  const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  const value = decodeJson(bytes)
  // Each level takes two brackets.
  if (bytes.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH))
    throw new ValidationFailed({ body: [`Must be nested no deeper than ${MAX_DEPTH} levels.`] })
  return value
}

function decodeJson(bytes: Buffer): unknown {
  try {
    // Fatal: lossy decoding would make two different passwords equal. The decoder drops a byte-order mark.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new InvalidJson()
  }
}

/** Whether lists and objects are nested deeper than `levels`. Recurses no deeper than that. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}
