import type { Command } from 'commander'
import type { Io } from '../io.ts'
import type { JsonFlag } from '../json.ts'
import { type PasswordSource, readGivenPassword } from '../new-password.ts'
import { jsonOption } from '../options.ts'

interface SmokeFlags extends PasswordSource, JsonFlag {
  readonly email: string
  readonly connections: string
}

const ABOUT = `
As every login does, this login revokes the customer's earlier login token:
use a customer for this purpose alone. After the logout, every new connection
must be refused. A load balancer distributes connections to all instances,
unless it binds a client to one. To test each instance, give its address.`

/** Adds the command `smoke`. It needs no setting of the service, because it works from outside. */
export function addSmokeCommand(program: Command, io: Io): void {
  const command: Command = program
    .command('smoke')
    .argument('<url...>', 'such as https://api.example.com; or one for each instance')
    .requiredOption('--email <email>', 'the customer who logs in')
    .option('--password-stdin', 'read the password from standard input')
    .option('--connections <number>', 'new ones to each address, 5 to 1000', '50')
    .addOption(jsonOption())
    .description('log in, call /api/me and log out at a running service')
    .addHelpText('after', ABOUT)
    .action(
      async (addresses: readonly string[], { email, connections, json = false, ...source }: SmokeFlags) => {
        const urls = addresses.map(parseBaseUrl)
        if (!/^\d{1,4}$/.test(connections) || Number(connections) < 5 || Number(connections) > 1000)
          command.error('error: --connections must be a whole number from 5 to 1000')
        const password = await readGivenPassword(source, io)
        const { smoke } = await import('./smoke.ts')
        await smoke({ urls, email, password, connections: Number(connections), json }, io)
      },
    )

  function parseBaseUrl(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : null
    if (url !== null && isBase(url)) return url
    // The message does not repeat the URL, because it may contain a password.
    command.error('error: a url must begin with http:// or https://, without user and query')
  }
}

function isBase({ protocol, username, password, search, hash }: URL): boolean {
  return /^https?:$/.test(protocol) && username + password + search + hash === ''
}
