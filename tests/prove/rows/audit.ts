import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { tokenSecrets } from '../../../src/adapters/node-crypto/token-secrets.ts'
import type { AuditEventName } from '../../../src/application/audit-events.ts'
import { callAt } from '../../../src/testing/call.ts'
import type { TestDatabase } from '../../support/database.ts'
import { takeResponse } from '../../support/raw-http.ts'
import { PASSWORD } from '../../support/running-app.ts'
import { startLatchkey } from '../../support/running-process.ts'
import { withApp } from '../app.ts'
import { withDatabase } from '../pair.ts'
import type { Row, Trial } from '../row.ts'

const CUSTOMERS = 6
const secrets = tokenSecrets({ prefix: 'lk' })

/** A request whose response reports an event. */
interface Ask {
  readonly head: string
  readonly body?: object
  readonly event: AuditEventName
}

/** A response that arrived. */
interface AuditedResponse {
  readonly requestId: string
  readonly event: AuditEventName
}

export const auditRows: readonly Row[] = [
  {
    id: 'K4',
    promise: 'killed right after a response: its audit line is written, on standard output or in a file',
    sizes: { ci: 60, release: 1000, mutant: 20 },
    mutants: [
      {
        name: 'lines are buffered before they are written',
        file: 'src/adapters/pino/audit-log.ts',
        find: 'logger.info(selectFields(event, fields), event)',
        replace: 'void setTimeout(() => logger.info(selectFields(event, fields), event), 5)',
      },
      {
        name: 'a failed login is recorded after its response',
        file: 'src/application/use-cases/login.ts',
        find: "audit.record('login.failed', failure)",
        replace: "setTimeout(() => audit.record('login.failed', failure), 5)",
      },
    ],
    run: (trial) =>
      withDatabase(async (database) => {
        const emails: string[] = []
        await withApp(trial, { database }, async (app) => {
          for (let i = 0; i < CUSTOMERS; i++) emails.push((await app.addCustomer()).email)
        })
        let kills = 0
        for (let tried = 0; tried < trial.size; kills++)
          tried += await killOnce(trial, database, emails, kills)
        trial.note(`${kills} kills, each at the first to the tenth of ten responses`)
      }),
  },
]

/**
 * Sends ten requests at once, kills the service at one of the responses, and checks the audit line of every response
 * that arrived.
 */
async function killOnce(
  trial: Trial,
  database: TestDatabase,
  emails: readonly string[],
  round: number,
): Promise<number> {
  // Otherwise this number of failures in a row would be refused as guessing, with another event.
  await database.sql('delete from login_attempts')
  const file = round % 2 === 0 ? null : `audit-${round}.jsonl`
  const service = startLatchkey(['serve'], {
    cwd: trial.folder,
    env: {
      PORT: '0',
      DATABASE_URL: database.url,
      BCRYPT_COST: '4',
      ACCESS_LOG: 'off',
      ...(file === null ? {} : { AUDIT_LOG: file }),
    },
  })
  const [, url = ''] = await service.until(/"address":"(http:[^"]+)"/)
  const tokens: string[] = []
  for (const email of emails.slice(0, 2))
    tokens.push((await callAt(url, '/api/login', { body: { email, password: PASSWORD } })).body.token)

  const received: AuditedResponse[] = []
  const killAt = 1 + (round % 10)
  await Promise.all(
    asksOf(emails.slice(2), tokens).map((ask, n) =>
      sendRequest(Number(new URL(url).port), ask, `${round}-${n}`, (response) => {
        if (received.push(response) === killAt) service.child.kill('SIGKILL')
      }),
    ),
  )
  const { signal, stdout } = await service.ended
  trial.require(
    signal === 'SIGKILL' && received.length >= killAt,
    () => `${received.length} responses, ${signal}`,
  )
  const lines = (file === null ? stdout : readFileSync(join(trial.folder, file), 'utf8')).split('\n')
  const recorded = new Set(
    lines
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line))
      .map(({ request_id, event }) => `${request_id} ${event}`),
  )
  for (const { requestId, event } of received)
    trial.expect(
      recorded.has(`${requestId} ${event}`),
      () => `no line of ${event} in ${file ?? 'the output'}`,
    )
  return received.length
}

function asksOf(emails: readonly string[], tokens: readonly string[]): readonly Ask[] {
  const login = (email: string, password: string, event: AuditEventName): Ask => ({
    head: 'POST /api/login',
    body: { email, password },
    event,
  })
  const bearer = (target: string, token: string, event: AuditEventName): Ask => ({
    head: `${target} ${token}`,
    event,
  })
  return [
    login(emails[0] ?? '', PASSWORD, 'login.succeeded'),
    login(emails[1] ?? '', PASSWORD, 'token.issued'),
    login(emails[2] ?? '', 'wrong', 'login.failed'),
    login(emails[3] ?? '', 'wrong', 'login.failed'),
    login('unknown@example.com', PASSWORD, 'login.failed'),
    ...tokens.map((token) => bearer('POST /api/logout', token, 'token.revoked')),
    bearer('POST /api/me', secrets.issue().secret, 'token.denied'),
    bearer('POST /api/me', secrets.issue().secret, 'token.denied'),
    bearer('GET /api/status', 'wrong', 'service.denied'),
  ]
}

/** Sends the request on a new connection. Resolves when the connection is closed. */
function sendRequest(
  port: number,
  { head, body, event }: Ask,
  requestId: string,
  receive: (received: AuditedResponse) => void,
) {
  const [method, path, token] = head.split(' ')
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `X-Request-Id: ${requestId}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ]
  return new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n${text}`))
    let received = ''
    let isTold = false
    socket.setEncoding('latin1').on('data', (chunk) => {
      received += chunk
      if (isTold || takeResponse(received, false) === null) return
      isTold = true
      receive({ requestId, event })
    })
    // The kill resets the connection.
    socket.on('error', () => {}).on('close', () => resolve())
  })
}
