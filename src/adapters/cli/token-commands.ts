import { type Command, Option } from 'commander'
import type { YesFlag } from './confirmation.ts'
import type { Io } from './io.ts'
import type { JsonFlag } from './json.ts'
import type { Operations } from './operations.ts'
import { jsonOption, yesOption } from './options.ts'
import { type CreateOptions, createTokenCommands } from './tokens.ts'

interface RevokeOptions extends YesFlag {
  readonly name?: string
  readonly issuedBefore?: string
}

/** Declares the commands of `token`. */
export function addTokenCommands(program: Command, operations: Operations, io: Io): void {
  const commands = createTokenCommands(operations, io)
  const token = program.command('token').description('access tokens, for bots and scripts of a customer')
  token
    .command('create')
    .argument('<email>')
    .requiredOption('--name <name>', 'what the token is for')
    .option('--ability <ability>', 'what it may do, such as orders:read; repeatable', gather)
    .option('--expires <when>', 'such as 90d or 2030-01-31; default: never')
    .description('create a token and print it once')
    .action((email: string, options: CreateOptions) => commands.create(email, options))
  token
    .command('list')
    .argument('[email]')
    .addOption(jsonOption())
    .description('list the tokens of a customer, or of all')
    .action((email: string | undefined, flags: JsonFlag) => commands.list(email, flags))
  const revoke = token
    .command('revoke')
    .argument('[email]')
    .option('--name <name>', 'only those of this name')
    .addOption(
      new Option(
        '--issued-before <when>',
        'of all customers: a time, or a duration ago such as 2h',
      ).conflicts('name'),
    )
    .addOption(yesOption())
    .description("revoke a customer's tokens, or old ones of all")
    .action((email: string | undefined, options: RevokeOptions) => {
      if (email !== undefined && options.issuedBefore === undefined) return commands.revoke(email, options)
      if (email === undefined && options.issuedBefore !== undefined)
        return commands.revokeIssuedBefore(options.issuedBefore, options)
      return revoke.error('give either an e-mail or --issued-before')
    })
  token
    .command('prune')
    .option('--older-than <duration>', 'time since they ended; default: TOKEN_RETENTION')
    .description('remove revoked and expired tokens')
    .action(commands.prune)
}

function gather(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}
