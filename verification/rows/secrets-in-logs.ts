import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { route } from '../../src/adapters/http/routing/route.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { PASSWORD, type RunningApp } from '../../tests/support/running-app.ts'
import { runLatchkey } from '../../tests/support/running-process.ts'
import { type AppOptions, withApp } from '../app.ts'
import type { Row, Trial } from '../row.ts'

const DISPATCH = 'src/adapters/http/routing/dispatch.ts'
const FAIL = 'src/adapters/http/routing/failure-handler.ts'
const REPORT = 'src/adapters/http/response/error-report.ts'

/** A command takes a second to start. */
const COMMANDS_EVERY = 10

export const logRows: readonly Row[] = [
  {
    id: 'K1',
    promise:
      'no secret in any line of log, audit log or command, at the finest level, bugs and outages included',
    sizes: { ci: 20, release: 500 },
    mutants: [
      {
        name: "an error's message is logged",
        file: REPORT,
        find: 'messages || isOwnMessage(error)',
        replace: 'true',
      },
      {
        name: 'the whole stack is logged',
        file: REPORT,
        find: 'stack: extractFrames(stack, message)',
        replace: 'stack',
      },
      {
        name: 'the target is logged',
        file: FAIL,
        find: '...(route === null ? {} : { route })',
        replace: "route: request.url ?? ''",
      },
      {
        name: 'access lines contain the target',
        file: DISPATCH,
        find: 'exchange.route = route.path',
        replace: "exchange.route = request.url ?? ''",
      },
      {
        name: 'a failed login is logged with its e-mail',
        file: 'src/application/login/exchange-credentials.ts',
        find: 'customerId: found?.customer.id ?? null',
        replace: 'customerId: request.attempt.account',
      },
      {
        name: 'a refused token is logged with its text',
        file: 'src/application/use-cases/authenticate.ts',
        find: '...auditIds(owned), reason }',
        replace: '...auditIds(owned), tokenId: presented, reason }',
      },
    ],
    async run(trial) {
      const auditFile = join(trial.folder, 'audit.jsonl')
      const service = 'canary-service-secret-0123456789abcdef'
      const options: AppOptions = {
        hasBugs: true,
        env: {
          SERVICE_TOKENS: `canary=${service}`,
          TOKEN_CACHE_TTL: '0s',
          ACCESS_LOG: 'all',
          // The handler's error contains a secret.
          LOG_ERROR_MESSAGES: 'off',
          AUDIT_LOG: auditFile,
        },
        routes: () => [
          route('POST /broken', {
            auth: 'none',
            handle: ({ headers }) => {
              throw Object.assign(new TypeError(`cannot use ${headers.authorization}`), {
                detail: PASSWORD,
                parameters: [PASSWORD],
              })
            },
          }),
        ],
      }
      await withApp(trial, options, async (app) => {
        let read = 0
        let audited = 0
        for (let i = 0; i < trial.size; i++) {
          const password = `canary-password-${i}`
          const { email, id } = await app.addCustomer({ email: `canary-email-${i}@example.com`, password })
          const token = await app.login(email, password)
          const [row] = await app.database.sql<{ password_hash: string }>(
            'select password_hash from customers where id = $1',
            [id],
          )
          await app.call(`/api/me?token=${token}&x=canary-query-${i}`, { token })
          await app.call('/api/login', { body: { email: password, password: token } })
          await app.call('/api/login', { body: `{"email":"${email}","password":"${password}` })
          await app.call('/api/login', { body: { email, password: `${password}x` } })
          await app.call('/api/me', { token: await app.login(email, password) })
          await app.call('/api/me', { token })
          await app.call('/api/logout', { token })
          const said = i % COMMANDS_EVERY === 0 ? await runCommands(trial, app, auditFile, i) : ''
          await app.call(`/api/broken?token=${token}`, { token })
          await app.call('/api/status', { method: 'GET', token: service })
          await app.call('/api/status', { method: 'GET', token: `${service}x` })
          await app.database.sql('alter table login_tokens rename column token_hash to gone')
          const bug = await app.call(`/api/me?token=${token}`, { token })
          await app.database.sql('alter table login_tokens rename column gone to token_hash')
          trial.expect(
            bug.status === 500 && !JSON.stringify(bug.body).includes('token_hash'),
            () => `a broken statement: ${JSON.stringify(bug.body)}`,
          )
          const audit = readFileSync(auditFile, 'utf8')
          const log = app.logLines.slice(read).join('') + audit.slice(audited) + said
          read = app.logLines.length
          audited = audit.length
          for (const event of ['request.failed', 'login.failed', 'token.denied', 'token.issued'])
            trial.expect(log.includes(event), () => `nothing of ${event} was logged`)
          for (const canary of [
            token,
            token.slice(0, 12),
            password,
            service,
            PASSWORD,
            email,
            row?.password_hash ?? '?',
            '$2b$',
            'canary-',
            'token_hash',
            'select',
          ]) {
            trial.expect(
              !log.includes(canary),
              () => `${canary} in ${log.split('\n').find((line) => line.includes(canary))}`,
            )
          }
        }
      })
    },
  },
  {
    id: 'K3',
    promise: 'line breaks and escapes in any field of a request: one JSON line per event',
    sizes: { ci: 20, release: 500 },
    mutants: [
      {
        name: 'any request id is accepted',
        file: 'src/adapters/http/server/exchange.ts',
        find: '/^[A-Za-z0-9._-]{1,128}$/.test(presented)',
        replace: 'true',
      },
      {
        name: 'the target is logged',
        file: FAIL,
        find: '...(route === null ? {} : { route })',
        replace: "route: request.url ?? ''",
      },
    ],
    async run(trial) {
      const options: AppOptions = {
        hasBugs: true,
        routes: () => [
          route('POST /broken/:id', {
            auth: 'none',
            handle: ({ params }) => {
              throw new Error(`no ${params.id}\n{"level":"forged"}`)
            },
          }),
        ],
      }
      await withApp(trial, options, async (app) => {
        let read = 0
        let audited = 0
        for (let i = 0; i < trial.size; i++) {
          for (const text of [
            '\r\n',
            '\n{"level":"forged"}',
            '\u2028',
            '\u2029',
            '\u001b[31mred',
            '\u0007',
            '"',
            '\\"',
            '\u202e',
            '\u0085',
          ]) {
            const raw = Buffer.from(text)
              .toString('latin1')
              .replace(/[\r\n\u0000]/g, '\u001b')
              .replaceAll('\u0007', '\u001b')
            const path = `/api/broken/${encodeURIComponent(text)}`
            const head = `POST ${path}?q=${encodeURIComponent(text)} HTTP/1.1\r\nHost: a\r\nX-Request-Id: x${raw.replaceAll('\u001b', '\u00e9')}\r\nUser-Agent: u\r\nContent-Length: 0\r\n\r\n`
            const { responses } = await sendRaw(app.port, head, { responses: 1 })
            trial.expect(
              responses[0]?.status === 500,
              () => `${JSON.stringify(text)}: ${responses[0]?.status}`,
            )
            const login = await app.call('/api/login', {
              body: { email: `a${text}@example.com`, password: text },
            })
            const lines = [...app.logLines.slice(read), ...app.auditLines.slice(audited)]
            read = app.logLines.length
            audited = app.auditLines.length
            const events = ['request.failed', ...(login.status === 401 ? ['request', 'login.failed'] : [])]
            trial.expect(
              lines.length === events.length,
              () => `${lines.length} lines for ${events.length} events`,
            )
            for (const [i, line] of lines.entries()) {
              const whole =
                line.endsWith('\n') && line.slice(0, -1).split(/[\r\n\u2028\u2029\u0085]/).length === 1
              // The handler's message is not checked; it must not look like another line or field.
              const { message, ...fields } = JSON.parse(line)
              const clean =
                !/[\u0000-\u001f\u007f-\u009f]/.test(line.slice(0, -1)) &&
                !line.includes(encodeURIComponent(text)) &&
                !/forged|\u001b|\u00e9/.test(JSON.stringify(fields))
              trial.expect(whole && clean && fields.event === events[i], () => `${JSON.stringify(line)}`)
            }
          }
        }
      })
    },
  },
]

/** Returns the output of all commands that create, change and delete a customer whose password is a canary. */
async function runCommands(trial: Trial, app: RunningApp, auditFile: string, i: number): Promise<string> {
  const email = `commands-${i}@example.com`
  const env = { DATABASE_URL: app.database.url, AUDIT_LOG: auditFile, BCRYPT_COST: '4', LOG_LEVEL: 'trace' }
  let said = ''
  for (const [args, input] of [
    [['add', email, '--password-stdin'], `canary-password-of-command-${i}`],
    [['add', email, '--password-stdin'], 'canary'],
    [['password', email, '--password-stdin'], `canary-other-password-${i}`],
    [['password', email, '--hash-stdin'], '$2b$04$canary'],
    [['disable', email], ''],
    [['show', email], ''],
    [['delete', email], ''],
  ] as const) {
    const { code, stdout, stderr } = await runLatchkey(['customer', ...args], {
      cwd: trial.folder,
      env,
      input,
    })
    const refused = input === 'canary' || input === '$2b$04$canary'
    trial.expect(code === (refused ? 1 : 0), () => `customer ${args[0]} ended with ${code}: ${stderr}`)
    said += stdout + stderr
  }
  return said
}
