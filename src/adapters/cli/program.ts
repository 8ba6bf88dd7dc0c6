import { Command, Option } from 'commander'
import { createCustomerCommands } from './customers.ts'
import { addDoctorCommand } from './doctor.ts'
import { type Io, write } from './io.ts'
import type { Operations } from './operations.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { addSmokeCommand } from './smoke/command.ts'
import { createTable } from './table.ts'
import { type CreateOptions, createTokenCommands } from './tokens.ts'

/** Declares the commands for commander, which parses arguments and calls the action of a command. */
export function createProgram(operations: Operations, io: Io): Command {
  const program = new Command('latchkey')
    .description('A token-authenticated JSON API service. Without a command, it runs the service.')
    .version(operations.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
      outputError: (text, writeErr) =>
        writeErr(
          `latchkey: ${printable(
            text
              .trim()
              .replace(/^error: /, '')
              .replace('\n', ' '),
          )}\n`,
        ),
    })

  program.command('serve').description('run the service (default)').action(operations.serve)

  program
    .command('migrate')
    .description('bring the database to the current schema')
    .option('--check', 'only list pending migrations; exit 1 if there are any')
    .action(({ check }: { check?: boolean }) => (check ? checkMigrations() : applyMigrations()))

  addCustomerCommands(program, operations, io)
  addTokenCommands(program, operations, io)

  program
    .command('service-token')
    .description('secrets for programs without a customer')
    .command('new')
    .description('print a new secret for SERVICE_TOKENS')
    .action(async () => {
      await write(io.stdout, `${operations.newServiceToken()}\n`)
    })

  program
    .command('routes')
    .description('list the routes, who may call, with which abilities')
    .action(listRoutes)
  program.command('openapi').description('print the OpenAPI document of the routes').action(printOpenApi)

  addDoctorCommand(program, operations, io)
  addSmokeCommand(program, io)

  return program

  async function listRoutes(): Promise<void> {
    const rows = (await operations.routes()).map(({ method, path, auth, abilities }) => [
      method,
      path,
      auth,
      abilities.join(', '),
    ])
    await write(io.stdout, createTable(['METHOD', 'PATH', 'AUTH', 'ABILITIES'])(rows))
  }

  async function printOpenApi(): Promise<void> {
    const { document, problems } = await operations.openApi()
    await write(io.stderr, problems.map((problem) => `latchkey: ${printable(problem)}\n`).join(''))
    await write(io.stdout, `${JSON.stringify(document, null, 2)}\n`)
  }

  async function applyMigrations(): Promise<void> {
    const applied = await operations.migrate()
    const lines = applied.map((name) => `Applied ${printable(name)}.\n`)
    await write(io.stdout, lines.join('') || 'The schema is current.\n')
  }

  async function checkMigrations(): Promise<void> {
    const pending = await operations.pendingMigrations()
    const lines = pending.map((name) => `${printable(name)}\n`)
    await write(io.stdout, lines.join('') || 'The schema is current.\n')
    if (pending.length > 0)
      throw new Refusal(`Migrations are pending: ${pending.length}. Apply them with the command migrate.`)
  }
}

interface ImportOptions {
  readonly dryRun?: boolean
  readonly format?: 'csv' | 'ndjson'
}

function addCustomerCommands(program: Command, operations: Operations, io: Io): void {
  const commands = createCustomerCommands(operations, io)
  const customer = program.command('customer').description('the customers, who may log in')
  withPasswordOptions(customer.command('add').argument('<email>').option('--name <name>', 'the display name'))
    .description('create a customer')
    .action((email, options) => commands.add(email, options))
  customer
    .command('import')
    .argument('<file>', 'a CSV or NDJSON file; - for standard input')
    .option('--dry-run', 'check every row and change nothing')
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
      await importFile(file, format, options.dryRun === true, operations, io)
    })
  customer.command('list').description('list all customers').action(commands.list)
  withPasswordOptions(customer.command('password').argument('<email>'))
    .description('set the password and revoke the tokens')
    .action((email, options) => commands.password(email, options))
  for (const [name, description] of [
    ['show', 'show a customer and the tokens that are active'],
    ['disable', 'refuse logins and revoke the tokens'],
    ['enable', 'accept logins again'],
    ['delete', 'remove a customer and the tokens'],
  ] as const)
    customer
      .command(name)
      .argument('<email>')
      .description(description)
      .action((email) => commands[name](email))
}

function addTokenCommands(program: Command, operations: Operations, io: Io): void {
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
    .description('list the tokens of a customer, or of all')
    .action(commands.list)
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
    .description("revoke a customer's tokens, or old ones of all")
    .action((email: string | undefined, options: { name?: string; issuedBefore?: string }) => {
      if (email !== undefined && options.issuedBefore === undefined) return commands.revoke(email, options)
      if (email === undefined && options.issuedBefore !== undefined)
        return commands.revokeIssuedBefore(options.issuedBefore)
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

function withPasswordOptions(command: Command): Command {
  return command
    .addOption(new Option('--password-stdin', 'read the password from standard input').conflicts('hashStdin'))
    .addOption(new Option('--hash-stdin', 'read a bcrypt hash from standard input'))
}
