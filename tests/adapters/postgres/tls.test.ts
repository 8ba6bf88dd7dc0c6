import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createSecureContext, TLSSocket } from 'node:tls'
import { withDirectClient } from '../../../src/adapters/postgres/connection/direct-client.ts'
import { driverUrl } from '../../../src/adapters/postgres/connection/driver-url.ts'
import { selfSignedFor, withoutOpenssl } from '../../support/certificate.ts'
import { runLatchkey, temporaryFolder } from '../../support/running-process.ts'

describe('A TLS connection to the database', { skip: withoutOpenssl }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let server: Server
  let url: string
  let encrypted = 0
  before(async () => {
    folder = await temporaryFolder()
    const secureContext = createSecureContext(selfSignedFor(folder.path))
    // As much of a server as TLS needs: it agrees to encrypt, and ends where a log-in would begin.
    server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write('S')
        const secure = new TLSSocket(socket, { isServer: true, secureContext })
        secure.on('error', () => {})
        secure.once('data', () => {
          encrypted++
          secure.destroy()
        })
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    url = `postgres://u:p@localhost:${(server.address() as AddressInfo).port}/d`
  })
  after(() => {
    server.close()
    folder.remove()
  })

  const outcome = async (query: string) => {
    const before = encrypted
    const error = await withDirectClient(`${url}?${query}`, async () => null).then(
      () => assert.fail('there is no database'),
      (refusal: Error) => refusal.message,
    )
    return { isEncrypted: encrypted > before, error }
  }

  // Public case 075
  test('is rejected with a self-signed certificate, in a line that names sslmode', async () => {
    for (const mode of ['require', 'verify-full']) {
      const { isEncrypted, error } = await outcome(`sslmode=${mode}`)
      assert.equal(isEncrypted, false)
      assert.match(error, /self-signed certificate.*sslmode/)
    }
  })

  // Public case 075
  test('is established without a check, and with the certificate as the authority', async () => {
    for (const query of [
      'sslmode=no-verify',
      `sslmode=verify-full&sslrootcert=${join(folder.path, 'cert.pem')}`,
    ]) {
      assert.equal((await outcome(query)).isEncrypted, true, query)
    }
  })

  // Public case 075
  test('lets a command print its one line without a warning of the driver', async () => {
    const env = { DATABASE_URL: `${url}?sslmode=require` }
    const { code, stderr } = await runLatchkey(['migrate', '--check'], { cwd: folder.path, env })
    assert.equal(code, 1)
    assert.match(stderr, /^latchkey: [^\n]*sslmode[^\n]*\n$/)
  })
})

test('the driver URL replaces only the modes that mean verify-full', () => {
  assert.equal(
    driverUrl('postgres://h/d?a=b&sslmode=require&c=d'),
    'postgres://h/d?a=b&sslmode=verify-full&c=d',
  )
  assert.equal(driverUrl('postgres://h/d?sslmode=%72equire'), 'postgres://h/d?sslmode=verify-full')
  for (const url of [
    'postgres://h/d',
    'postgres://app:p&sslmode=require&q@h/d',
    'postgres://app:p&sslmode=require&q@h/d?sslmode=disable',
    'postgres://h/d?options=a&application_name=x%3Fsslmode=require',
    'postgres://h/d?sslmode=disable',
    'postgres://h/d?sslmode=require-x',
  ]) {
    assert.equal(driverUrl(url), url)
  }
})
