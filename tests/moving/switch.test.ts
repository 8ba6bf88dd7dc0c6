/** A switch from another system to Latchkey while requests go on, in the order of the guides "Move from …". */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { startApp } from '../support/running-app.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'
import { FORMS, type Form, ISSUE, type Issued, OPTIONS } from './foreign-tokens.ts'
import { isLong, latchkeyOn, newFile } from './support.ts'

/** The number of requests in each of the phases of a switch, of which there are eight: 100,000 requests over the four forms. */
const REQUESTS = isLong ? 3_125 : 60
const CLIENTS = 16
const EMAIL = 'ana@example.com'

/** The other system: it issues tokens, stores their rows, and accepts what it has issued. */
async function startOldSystem(form: Form) {
  const tokens = new Map<string, Issued>()
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    request.resume()
    response.statusCode = tokens.has(request.headers.authorization ?? '') ? 200 : 401
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    issue() {
      const token = ISSUE[form](EMAIL)
      tokens.set(token.authorization, token)
      return token.authorization
    },
    revoke: (authorization: string) => tokens.delete(authorization),
    exportTo(file: string) {
      writeFileSync(file, [...tokens.values()].map(({ row }) => `${JSON.stringify(row)}\n`).join(''))
    },
    close: () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  }
}

for (const form of FORMS)
  describe(`a switch from ${form}`, () => {
    test(`rejects none of ${REQUESTS * 8} requests, and no customer logs in again`, async (t) => {
      const folder = await temporaryFolder()
      t.after(folder.remove)
      const old = await startOldSystem(form)
      t.after(() => old.close())
      const app = await startApp({ env: { FOREIGN_TOKENS: form } })
      t.after(() => app.close())
      await app.addCustomer({ email: EMAIL })
      const latchkey = latchkeyOn(app.database, folder.path)
      const importTokens = async (...more: readonly string[]) => {
        const file = newFile(folder.path, '.ndjson')
        old.exportTo(file)
        const done = await latchkey('token', 'import', file, '--from', form, ...OPTIONS[form], ...more)
        assert.deepEqual([done.code, done.stderr], [0, ''])
        return done.stdout
      }

      const held = Array.from({ length: 200 }, () => old.issue())
      const statuses = new Map<string, number>()
      let sent = 0
      let movedShare = 0
      let isOver = false
      // As a proxy does it: Latchkey's own tokens have a prefix.
      const urlFor = (authorization: string) =>
        authorization.startsWith('Bearer lk_') || Math.random() < movedShare ? app.url : old.url
      const clients = Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = client; !isOver; n += CLIENTS) {
          const authorization = held[n % held.length] as string
          const url = urlFor(authorization)
          const response = await fetch(`${url}/api/me`, { method: 'POST', headers: { authorization } })
          await response.arrayBuffer()
          const at = `${response.status} of ${url === old.url ? 'the old system' : 'Latchkey'}`
          statuses.set(at, (statuses.get(at) ?? 0) + 1)
          sent++
        }
      })
      const phase = async (work: () => unknown = () => {}) => {
        const end = sent + REQUESTS
        await work()
        await until(() => sent >= end)
      }
      const login = async (email: string) => {
        await app.addCustomer({ email })
        held.push(`Bearer ${await app.login(email)}`)
      }

      try {
        await phase()
        await phase(() => importTokens())
        // The old system still issues tokens, and revokes one.
        const revoked = held.pop() as string
        await phase(() => {
          for (let n = 0; n < 50; n++) held.push(old.issue())
        })
        old.revoke(revoked)
        // Logins go to Latchkey from here on.
        await phase(() => login('first@example.com'))
        await phase(async () => {
          assert.match(await importTokens('--sync'), /Imported: 50, already there: 199, .*revoked: 1\.\n$/)
        })
        for (const share of [0.3, 0.7])
          await phase(() => {
            movedShare = share
          })
        movedShare = 1
        await phase(() => login('second@example.com'))
        const headers = { authorization: revoked }
        assert.equal((await fetch(`${app.url}/api/me`, { method: 'POST', headers })).status, 401)
      } finally {
        isOver = true
        await Promise.all(clients)
      }
      t.diagnostic(`${sent} requests: ${JSON.stringify(Object.fromEntries(statuses))}`)
      assert.deepEqual([...statuses.keys()].sort(), ['200 of Latchkey', '200 of the old system'])
      assert.ok(sent >= REQUESTS * 8)

      // The old system can go: no request depends on it.
      const before = old.requests()
      await old.close()
      for (const authorization of held) {
        const response = await fetch(`${urlFor(authorization)}/api/me`, {
          method: 'POST',
          headers: { authorization },
        })
        assert.equal(response.status, 200)
      }
      assert.equal(old.requests(), before)
    })
  })
