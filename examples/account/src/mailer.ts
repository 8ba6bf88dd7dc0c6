/** A mail to a customer. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** The port of mails. */
export interface Mailer {
  /** Resolves once the mail server has accepted the mail. */
  send(mail: Mail): Promise<void>
}

/** A mailer that writes each mail to a stream instead of sending it. For development only: the mails have secrets. */
export function fakeMailer(output: Pick<NodeJS.WriteStream, 'write'>): Mailer {
  return {
    async send({ to, subject, text }) {
      output.write(`To: ${to}\nSubject: ${subject}\n\n${text}\n\n`)
    },
  }
}
