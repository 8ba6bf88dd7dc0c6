import { type Command, Option } from 'commander'
import type { YesFlag } from './confirmation.ts'
import { createCustomerCommands } from './customers.ts'
import type { Io } from './io.ts'
import type { JsonFlag } from './json.ts'
import type { Operations } from './operations.ts'
import { jsonOption, yesOption } from './options.ts'

interface ImportOptions {
  readonly dryRun?: boolean
  readonly json?: boolean
  readonly format?: 'csv' | 'ndjson'
}

/** Declares the commands of `customer`. */
export function addCustomerCommands(program: Command, operations: Operations, io: Io): void {
  const commands = createCustomerCommands(operations, io)
  const customer = program.command('customer').description('the customers, who may log in')
  withPasswordOptions(customer.command('add').argument('<email>').option('--name <name>', 'the display name'))
    .addOption(jsonOption())
    .description('create a customer')
    .action((email, options) => commands.add(email, options))
  customer
    .command('import')
    .argument('<file>', 'a CSV or NDJSON file; - for standard input')
    .option('--dry-run', 'check every row and change nothing')
    .addOption(jsonOption())
    .addOption(
      new Option('--format <format>', 'where the file name does not show it').choices(['csv', 'ndjson']),
    )
    .description('import customers with their bcrypt hashes')
    .action(async (file: string, options: ImportOptions, command: Command) => {
      // Loaded here, because only this command needs the file parsers.
      const { importFormat, importFile } = await import('./import/import-file.ts')
      const format = options.format ?? importFormat(file)
      if (format === null)
        command.error('error: the file name does not show the format; add --format csv or ndjson')
      await importFile({ file, format, ...options }, operations, io)
    })
  customer
    .command('list')
    .addOption(jsonOption())
    .description('list all customers')
    .action((flags: JsonFlag) => commands.list(flags))
  withPasswordOptions(customer.command('password').argument('<email>'))
    .addOption(jsonOption())
    .description('set the password and revoke the tokens')
    .action((email, options) => commands.password(email, options))
  customer
    .command('show')
    .argument('<email>')
    .addOption(jsonOption())
    .description('show a customer and the tokens that are active')
    .action((email: string, flags: JsonFlag) => commands.show(email, flags))
  customer
    .command('sessions')
    .argument('<email>')
    .addOption(jsonOption())
    .description('list the active login tokens of a customer, with their devices')
    .action((email: string, flags: JsonFlag) => commands.sessions(email, flags))
  for (const [name, description] of [
    ['unlock', 'forget the failed logins; with LOGIN_SESSIONS_FULL=refuse, also revoke the login tokens'],
    ['disable', 'refuse logins and revoke the tokens'],
    ['enable', 'accept logins again'],
  ] as const)
    customer
      .command(name)
      .argument('<email>')
      .addOption(jsonOption())
      .description(description)
      .action((email: string, flags: JsonFlag) => commands[name](email, flags))
  customer
    .command('delete')
    .argument('<email>')
    .addOption(yesOption())
    .addOption(jsonOption())
    .description('remove a customer and the tokens')
    .action((email: string, flags: YesFlag & JsonFlag) => commands.delete(email, flags))
}

function withPasswordOptions(command: Command): Command {
  return command
    .addOption(new Option('--password-stdin', 'read the password from standard input').conflicts('hashStdin'))
    .addOption(new Option('--hash-stdin', 'read a bcrypt hash from standard input'))
}
