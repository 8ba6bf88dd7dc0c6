import { PASSWORD } from '../../tests/support/running-app.ts'
import { loginStatus, withApp } from '../app.ts'
import { UNLIMITED } from '../crowd.ts'
import type { Row } from '../row.ts'

const PASSWORD_RULES = 'src/domain/password.ts'
const CUSTOMER_RULES = 'src/domain/customer.ts'

/** Which credentials open an account, and what a refusal discloses. */
export const credentialRows: readonly Row[] = [
  {
    id: 'D1',
    promise: 'passwords at the limits of bcrypt and of the contract',
    sizes: { ci: 1, release: 5 },
    mutants: [
      {
        name: 'a password is trimmed',
        file: 'src/application/login/verify-password.ts',
        find: 'slot.verify(password, ',
        replace: 'slot.verify(password.trim(), ',
      },
      {
        name: 'NUL is allowed',
        file: PASSWORD_RULES,
        find: "if (password.includes('\\u0000'))",
        replace: 'if (false)',
      },
      {
        name: 'any length is verified',
        file: PASSWORD_RULES,
        find: 'const MAX_BYTES = 1024',
        replace: 'const MAX_BYTES = 1e9',
      },
      {
        name: 'characters are counted instead of bytes',
        file: PASSWORD_RULES,
        find: 'utf8Bytes(password) > MAX_BYTES',
        replace: 'password.length > MAX_BYTES',
      },
      {
        name: 'a long password is stored in the plain form',
        file: 'src/adapters/bcrypt/password-hasher.ts',
        find: "exceedsBcrypt(password) ? SHA256_PREFIX : ''",
        replace: "''",
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const at = (bytes: number, end = '') => 'p'.repeat(bytes - Buffer.byteLength(end)) + end
        for (let round = 0; round < trial.size; round++) {
          for (const password of [
            at(71),
            at(72),
            at(72, 'é'),
            at(72, '💥'),
            '€'.repeat(24),
            at(73),
            '€'.repeat(25),
            at(1024),
            at(1024, '💥'),
            ' hunter2 ',
            '        ',
            'e\u0301'.repeat(8),
          ]) {
            const { email } = await app.addCustomer({ password })
            trial.expect(
              (await loginStatus(app, email, password)) === 200,
              () => `${JSON.stringify(password)} is refused`,
            )
            for (const other of [
              password.slice(1),
              password.slice(0, -1),
              `x${password}`,
              password.trim(),
              password.normalize('NFC'),
            ]) {
              if (other === password || !other.isWellFormed()) continue
              const status = await loginStatus(app, email, other)
              trial.expect(
                status === 401,
                () => `${JSON.stringify(other)} for ${JSON.stringify(password)}: ${status}`,
              )
            }
            const status = await loginStatus(app, email, `${password}\u0000x`)
            trial.expect(status === 422, () => `NUL: ${status}`)
          }
          for (const [password, why] of [
            [at(1025), '1,025 bytes'],
            ['€'.repeat(342), '1,026 bytes'],
            [at(1025, 'é'), 'é across the limit'],
            [at(10_000), '10,000 bytes'],
            ['short', 'too short'],
            ['with\u0000nul', 'NUL'],
            ['\ud800'.repeat(8), 'surrogates'],
          ] as const) {
            const refused = await app.addCustomer({ password }).then(
              () => false,
              () => true,
            )
            trial.expect(refused, () => `a password was set: ${why}`)
          }
          const { email, id } = await app.addCustomer()
          await app.database.sql('update customers set password_hash = $2 where id = $1', [
            id,
            '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO',
          ])
          for (const [password, wanted] of [
            [at(100), 200],
            [at(1024), 200],
            [at(1025), 422],
            [at(10_000), 422],
            [at(71), 401],
          ] as const) {
            const status = await loginStatus(app, email, password)
            trial.expect(
              status === wanted,
              () => `an imported hash, ${password.length} bytes: ${status}, not ${wanted}`,
            )
          }
        }
      }),
  },
  {
    id: 'D4',
    promise: 'an e-mail that looks like another one never opens the other account',
    sizes: { ci: 1, release: 5 },
    mutants: [
      {
        name: 'case is folded beyond ASCII',
        file: CUSTOMER_RULES,
        find: 'trimmedEmail(email).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())',
        replace: 'trimmedEmail(email).toLowerCase()',
      },
      {
        name: 'an e-mail is normalised',
        file: CUSTOMER_RULES,
        find: 'return email.slice(start, end)',
        replace: "return email.normalize('NFKC').trim()",
      },
    ],
    run: (trial) =>
      withApp(trial, {}, async (app) => {
        const accounts: Readonly<Record<string, { same: readonly string[]; other: readonly string[] }>> = {
          'kim.list@example.com': {
            same: ['KIM.LIST@EXAMPLE.COM', ' kim.list@example.com\t', 'Kim.List@example.com'],
            other: [
              '\u212aim.list@example.com',
              'k\u0131m.list@example.com',
              'kim.li\u017ft@example.com',
              'kim.list@example.com\u00a0',
              '\ufeffkim.list@example.com',
              '\uff4bim.list@example.com',
              'kim.list@example\u3002com',
              'kimlist@example.com',
              'kim.list+x@example.com',
            ],
          },
          "o'hara+x@xn--mnchen-3ya.example": {
            same: ["O'Hara+X@XN--MNCHEN-3YA.example"],
            other: [
              "o'hara@xn--mnchen-3ya.example",
              "o'hara+x@münchen.example",
              'o’hara+x@xn--mnchen-3ya.example',
            ],
          },
          'ñandu@example.com': {
            same: ['ñANDU@example.com'],
            other: ['Ñandu@example.com', 'n\u0303andu@example.com', 'nandu@example.com'],
          },
          'ana@localhost': { same: ['ANA@localhost'], other: ['ana@localhost.', 'ana@local\u00adhost'] },
        }
        for (const email of Object.keys(accounts)) await app.addCustomer({ email })
        for (let round = 0; round < trial.size; round++) {
          for (const [email, { same, other }] of Object.entries(accounts)) {
            for (const [list, wanted] of [
              [[email, ...same], 200],
              [other, 401],
            ] as const) {
              for (const presented of list) {
                const status = await loginStatus(app, presented, PASSWORD)
                trial.expect(
                  status === wanted,
                  () => `${JSON.stringify(presented)} for ${email}: ${status}, not ${wanted}`,
                )
              }
            }
          }
          const long = (length: number) => `${'💥'.repeat(length - 12)}@example.com`
          for (const [email, wanted] of [
            ['', 422],
            [' \t', 422],
            [long(254), 401],
            [long(255), 422],
            ['a\u0000@example.com', 422],
            ['a@example.com\u0000', 422],
            ['a\u0085@example.com', 422],
            ['a\ud800@example.com', 422],
          ] as const) {
            const status = await loginStatus(app, email, PASSWORD)
            trial.expect(
              status === wanted,
              () => `${JSON.stringify(email).slice(0, 40)}: ${status}, not ${wanted}`,
            )
          }
        }
      }),
  },
  {
    id: 'E7',
    promise: 'the response to a refused login is byte for byte the same for every cause',
    sizes: { ci: 5, release: 50 },
    mutants: [
      {
        name: 'a disabled customer gets another response',
        file: 'src/application/login/exchange-credentials.ts',
        find: 'if (found === null || verifiedHash === null) break',
        replace:
          "if (found !== null && found.customer.disabledAtMs !== null) throw new Error('disabled')\n      if (found === null || verifiedHash === null) break",
      },
      {
        name: 'a damaged hash causes an error',
        file: 'src/adapters/bcrypt/password-hasher.ts',
        find: 'onDamaged()\n',
        replace: "throw new Error('damaged')\n",
      },
    ],
    run: (trial) =>
      withApp(trial, { env: { BCRYPT_COST: '5', ...UNLIMITED } }, async (app) => {
        const causes: Record<string, string> = {
          unknown: 'unknown@example.com',
          wrong: (await app.addCustomer({ email: 'wrong@example.com' })).email,
        }
        for (const [cause, hash] of [
          ['none', null],
          ['damaged', '$2b$04$short'],
          ['md5', '5f4dcc3b5aa765d61d8327deb882cf99'],
          ['$2x$', '$2x$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
          ['cost 16', '$2b$16$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
          ['empty', ''],
          ['a cheaper hash', '$2b$04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'],
        ] as const) {
          const { id, email } = await app.addCustomer()
          await app.database.sql('update customers set password_hash = $2 where id = $1', [id, hash])
          causes[cause] = email
        }
        const disabled = await app.addCustomer()
        await app.service.useCases.customers.disable(disabled.id, app.service.useCases.deadline())
        causes.disabled = disabled.email
        const hasPassword = new Set(['wrong', 'a cheaper hash'])
        let standard: string | null = null
        for (let round = 0; round < trial.size; round++) {
          for (const [cause, email] of Object.entries(causes)) {
            const password = hasPassword.has(cause) ? 'wrong' : PASSWORD
            const { status, headers, body } = await app.call('/api/login', {
              body: { email, password },
              headers: { 'X-Request-Id': 'same' },
            })
            const whole = JSON.stringify({
              status,
              headers: [...headers].filter(([name]) => name !== 'date'),
              body,
            })
            standard ??= whole
            trial.expect(whole === standard && status === 401, () => `${cause}: ${whole}`)
          }
        }
      }),
  },
]
