import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type RawResponse, takeResponse } from '../tests/support/raw-http.ts'

/**
 * Reports every complete response that the server on a port of this process sends, with the method of its request where
 * it was parsed. Returns a function that stops it.
 */
export function tapResponses(
  port: number,
  report: (response: RawResponse, method: string | undefined) => void,
): () => void {
  /** The methods of the pending requests on a connection, in order. */
  const asked = new WeakMap<Socket, string[]>()

  function accepted(message: unknown): void {
    const { socket } = message as { socket: Socket }
    if (socket.localPort !== port) return
    const methods: string[] = []
    asked.set(socket, methods)
    let text = ''
    tapBytes(socket, (bytes) => {
      text += bytes.toString('latin1')
      for (;;) {
        const taken = takeResponse(text, methods[0] === 'HEAD')
        if (taken === null) return
        text = taken.rest
        report(taken.response, taken.response.status < 200 ? methods[0] : methods.shift())
      }
    })
  }

  function begun(message: unknown): void {
    const { request, socket } = message as { request: IncomingMessage; socket: Socket }
    asked.get(socket)?.push(request.method ?? '')
  }

  subscribe('net.server.socket', accepted)
  subscribe('http.server.request.start', begun)
  return () => {
    unsubscribe('net.server.socket', accepted)
    unsubscribe('http.server.request.start', begun)
  }
}

/** A stream passes its writes to the system through one of these two methods. */
function tapBytes(socket: Socket, report: (bytes: Buffer) => void): void {
  const { _write: write, _writev: writeAll } = socket
  socket._write = (chunk, encoding, done) => {
    report(toBytes(chunk, encoding))
    write.call(socket, chunk, encoding, done)
  }
  socket._writev = (chunks, done) => {
    for (const { chunk, encoding } of chunks) report(toBytes(chunk, encoding))
    writeAll?.call(socket, chunks, done)
  }
}

function toBytes(chunk: Buffer | string, encoding: BufferEncoding): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
}
