import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { get, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { shopRoutes } from '../src/routes.ts'

const CHUNK = Buffer.alloc(64 * 1024, 'lamp')
const CHUNKS = 800
const BYTES = CHUNK.length * CHUNKS

const folder = mkdtempSync(join(tmpdir(), 'shop-'))
let app: TestApp
before(async () => {
  app = await createTestApp({
    routes: () => shopRoutes({ folder, webhookSecret: '', starts: async () => 1 }),
  })
})
after(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

test('50 MB are uploaded and downloaded as streams', async (t) => {
  const beforeBytes = process.memoryUsage().rss
  const sent = request(`${app.url}/api/files/manual`, {
    method: 'PUT',
    headers: {
      Authorization: `Bearer ${app.asService().secret}`,
      'Content-Type': 'application/octet-stream',
    },
  })
  const received = new Promise<string>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => resolve(readText(response)))
  })
  await pipeline(Readable.from(chunks()), sent)
  const { bytes, sha256 } = JSON.parse(await received)
  assert.equal(bytes, BYTES)

  const response = await fetch(`${app.url}/api/files/manual`)
  assert.equal(response.headers.get('content-length'), String(BYTES))
  const hash = createHash('sha256')
  for await (const chunk of response.body ?? []) hash.update(chunk)
  assert.equal(hash.digest('hex'), sha256)
  const tag = response.headers.get('etag') ?? ''
  assert.equal(
    (await fetch(`${app.url}/api/files/manual`, { headers: { 'If-None-Match': tag } })).status,
    304,
  )
  // Client and service share this process.
  t.diagnostic(`memory grew by ${Math.round((process.memoryUsage().rss - beforeBytes) / 1e6)} MB`)
})

test('a slow reader gets the whole CSV', async () => {
  const text = await new Promise<string>((resolve, reject) => {
    get(`${app.url}/api/products.csv`, (response) => resolve(readSlowly(response))).on('error', reject)
  })
  const lines = text.trimEnd().split('\n')
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [50_001, 'id,price', 'lamp-50000,5000000'])
})

function* chunks(): Generator<Buffer> {
  for (let i = 0; i < CHUNKS; i++) yield CHUNK
}

async function readText(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += chunk
  return text
}

async function readSlowly(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk
    await sleep(1)
  }
  return text
}
