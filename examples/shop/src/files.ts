import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { NotFound, respond, route } from 'latchkey'
import * as v from 'valibot'

const MAX_BYTES = 64 * 1024 * 1024
const params = v.object({ name: v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/), v.examples(['manual'])) })

/** Returns the routes of files in a folder: neither upload nor download is ever completely in memory. */
export function fileRoutes(folder: string) {
  const filePath = (name: string) => join(folder, `shop-${name}.bin`)
  return [
    route('PUT /files/:name', {
      auth: 'service',
      params,
      body: 'stream',
      accepts: ['application/octet-stream'],
      bodyLimitBytes: MAX_BYTES,
      requestTimeout: '5m',
      returns: v.object({ bytes: v.number(), sha256: v.string() }),
      async handle({ params, body, signal }) {
        const hash = createHash('sha256')
        let bytes = 0
        // Another name, until all of it has arrived: an upload that fails replaces nothing.
        const incoming = `${filePath(params.name)}.${randomUUID()}`
        try {
          await pipeline(
            body,
            async function* count(chunks: AsyncIterable<Buffer>) {
              for await (const chunk of chunks) {
                bytes += chunk.length
                hash.update(chunk)
                yield chunk
              }
            },
            createWriteStream(incoming),
            { signal },
          )
          await rename(incoming, filePath(params.name))
        } finally {
          await rm(incoming, { force: true })
        }
        return { bytes, sha256: hash.digest('hex') }
      },
    }),
    route('GET /files/:name', {
      auth: 'none',
      params,
      responses: { 200: { type: 'application/octet-stream', headers: ['ETag'] } },
      throws: ['not_found'],
      async handle({ params }) {
        const file = await stat(filePath(params.name)).catch(() => null)
        if (file === null) throw new NotFound('There is no such file.')
        return respond({
          headers: { ETag: `"${file.size}-${file.mtimeMs}"`, 'Content-Length': file.size },
          body: createReadStream(filePath(params.name)),
        })
      },
    }),
  ]
}
