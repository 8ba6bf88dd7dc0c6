import { type Command, Option } from 'commander'
import { FOREIGN_FORMS } from '../../domain/foreign-token.ts'
import type { YesFlag } from './confirmation.ts'
import type { Io } from './io.ts'
import type { JsonFlag } from './json.ts'
import type { Operations } from './operations.ts'
import { jsonOption, yesOption } from './options.ts'
import type { TokenImportCommand } from './token-import/import-tokens.ts'
import { type CreateOptions, createTokenCommands } from './tokens.ts'

type ImportOptions = Omit<TokenImportCommand, 'file' | 'format'> & { readonly format?: 'csv' | 'ndjson' }

interface RevokeOptions extends YesFlag, JsonFlag {
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
    .addOption(jsonOption())
    .description('create a token and print it once')
    .action((email: string, options: CreateOptions) => commands.create(email, options))
  token
    .command('list')
    .argument('[email]')
    .addOption(jsonOption())
    .description('list the tokens of a customer, or of all')
    .action((email: string | undefined, flags: JsonFlag) => commands.list(email, flags))
  token
    .command('import')
    .argument('<file>', 'a CSV or NDJSON file of its table with the e-mails; - for standard input')
    .addOption(
      new Option('--from <system>', 'sanctum, adonis, drf, better-auth or csv').makeOptionMandatory(),
    )
    .option('--dry-run', 'check every row and change nothing')
    .option('--sync', 'also revoke imported tokens that the file no longer has')
    .option('--tokenable-type <type>', 'of Sanctum: the model whose tokens are imported')
    .option('--expires-after <duration>', 'of Sanctum: the expiration in its configuration, or never')
    .option('--widen', 'accept abilities that end in :*')
    .option('--accept-weak-keys', 'of better-auth: accept keys that may be predictable')
    .addOption(
      new Option('--format <format>', 'where the file name does not show it').choices(['csv', 'ndjson']),
    )
    .addOption(jsonOption())
    .description('import the tokens of another system')
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const { importFormat } = await import('./import/import-file.ts')
      const { importTokensFile } = await import('./token-import/import-tokens.ts')
      const problem = systemProblem(options.from)
      if (problem !== null) command.error(`error: ${problem}`)
      const format = options.format ?? importFormat(file)
      if (format === null)
        command.error('error: the file name does not show the format; add --format csv or ndjson')
      await importTokensFile({ ...options, file, format }, operations, io)
    })
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
    .addOption(jsonOption())
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
    .addOption(jsonOption())
    .description('remove revoked and expired tokens')
    .action(commands.prune)
}

function systemProblem(from: string): string | null {
  if (/knox/i.test(from))
    return 'knox stores SHA-512 digests, and Latchkey SHA-256: its tokens cannot be imported'
  if (IMPORTABLE.includes(from)) return null
  return `--from must be one of ${IMPORTABLE.join(', ')}`
}

const IMPORTABLE = [...FOREIGN_FORMS, 'csv']

function gather(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}
