import type { Command } from 'commander'
import type { Io } from '../io.ts'
import { givenPassword, type PasswordSource } from '../new-password.ts'

interface SmokeFlags extends PasswordSource {
  readonly email: string
  readonly connections: string
}

const ABOUT = `
The login revokes the earlier login token of the customer, as every login does:
take a customer for this purpose alone. After the logout every new connection
has to be refused. A balancer leads them to all of its instances, unless it
binds a client to one; with one address for each instance, all are asked.`

/** Adds `smoke`, which needs no setting of the service: it comes from outside. */
export function addSmokeCommand(program: Command, io: Io): void {
  const command: Command = program
    .command('smoke')
    .argument('<url...>', 'such as https://api.example.com; or one for each instance')
    .requiredOption('--email <email>', 'the customer who logs in')
    .option('--password-stdin', 'read the password from standard input')
    .option('--connections <number>', 'new ones to each address, 5 to 1000', '50')
    .description('log in, ask me and log out at a running service')
    .addHelpText('after', ABOUT)
    .action(async (addresses: readonly string[], { email, connections, ...source }: SmokeFlags) => {
      const urls = addresses.map(baseOf)
      if (!/^\d{1,4}$/.test(connections) || Number(connections) < 5 || Number(connections) > 1000)
        command.error('error: --connections must be a whole number from 5 to 1000')
      const password = await givenPassword(source, io)
      const { smoke } = await import('./smoke.ts')
      await smoke({ urls, email, password, connections: Number(connections) }, io)
    })

  function baseOf(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : null
    if (url !== null && isBase(url)) return url
    // Not repeated: there may be a password in it.
    command.error('error: a url must begin with http:// or https://, without user and query')
  }
}

function isBase({ protocol, username, password, search, hash }: URL): boolean {
  return /^https?:$/.test(protocol) && username + password + search + hash === ''
}
