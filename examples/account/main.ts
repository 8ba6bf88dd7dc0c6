import { runProgram } from 'latchkey'
import { memoryLoginThrottle } from 'latchkey/adapters/memory'
import { systemClock } from 'latchkey/adapters/system-clock'
import { MAIL_LIMITS } from './src/limits.ts'
import { fakeMailer } from './src/mailer.ts'
import { createMails } from './src/mails.ts'
import { accountRoutes } from './src/routes.ts'

const mailer = fakeMailer(process.stderr)
const mails = createMails(process.env.SITE_URL ?? 'http://127.0.0.1:8080')

await runProgram({
  version: '1.0.0',
  onPasswordChange({ email }) {
    mailer
      .send(mails.passwordChanged(email))
      .catch(() => process.stderr.write('A notice could not be sent.\n'))
  },
  routes: (useCases) =>
    accountRoutes({
      useCases,
      mails,
      send: (mail) => mailer.send(mail),
      throttle: memoryLoginThrottle(MAIL_LIMITS, systemClock),
    }),
})
