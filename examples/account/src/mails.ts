import type { Mail } from './mailer.ts'

/** Creates the mails to customers. `site` is the address of the web pages. */
export function createMails(site: string) {
  // Browsers send no fragment to servers, so that no log has the secret.
  const link = (page: string, secret: string) => `${site}/${page}#${secret}`
  return {
    confirmSignUp: (to: string, secret: string): Mail => ({
      to,
      subject: 'Confirm your e-mail',
      text: `Choose a password to finish: ${link('confirm', secret)}\nThe link works once, for a day. If you did not sign up, do nothing.`,
    }),
    resetPassword: (to: string, secret: string): Mail => ({
      to,
      subject: 'Choose a new password',
      text: `Choose a new password: ${link('reset', secret)}\nThe link works once, for an hour. If you did not ask for it, do nothing.`,
    }),
    passwordChanged: (to: string): Mail => ({
      to,
      subject: 'Your password was changed',
      text: `If it was not you, choose a new password at once: ${site}/forgotten`,
    }),
  }
}
