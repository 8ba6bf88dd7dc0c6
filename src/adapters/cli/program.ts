import { Command, Option } from 'commander'
import { makeCustomerCommands } from './customers.ts'
import { type Io, write } from './io.ts'
import type { Operations } from './operations.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'

/** The commands as commander knows them: it reads words and options, and every command is an action. */
export function makeProgram(operations: Operations, io: Io): Command {
  const program = new Command('latchkey')
    .description('A token-authenticated JSON API service. Without a command it serves.')
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
    .option('--check', 'only report what is pending; exit 1 if anything is')
    .action(({ check }: { check?: boolean }) => (check ? checkMigrations() : applyMigrations()))

  addCustomerCommands(program, operations, io)

  program
    .command('service-token')
    .description('secrets for programs without a customer')
    .command('new')
    .description('print a new secret for SERVICE_TOKENS')
    .action(async () => {
      await write(io.stdout, `${operations.newServiceToken()}\n`)
    })

  return program

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
      throw new Refusal(`Migrations are pending: ${pending.length}. Apply them with latchkey migrate.`)
  }
}

function addCustomerCommands(program: Command, operations: Operations, io: Io): void {
  const commands = makeCustomerCommands(operations, io)
  const customer = program.command('customer').description('the people who may log in')
  withPasswordOptions(
    customer.command('add').argument('<email>').option('--name <name>', 'the name that they are shown by'),
  )
    .description('make a customer')
    .action((email, options) => commands.add(email, options))
  customer.command('list').description('list all customers').action(commands.list)
  withPasswordOptions(customer.command('password').argument('<email>'))
    .description('set the password; ends the tokens')
    .action((email, options) => commands.password(email, options))
  for (const [name, description] of [
    ['show', 'show a customer and the tokens that are active'],
    ['disable', 'refuse logins until enabled again; ends the tokens'],
    ['enable', 'accept logins again'],
    ['delete', 'remove a customer; ends the tokens'],
  ] as const)
    customer
      .command(name)
      .argument('<email>')
      .description(description)
      .action((email) => commands[name](email))
}

function withPasswordOptions(command: Command): Command {
  return command
    .addOption(new Option('--password-stdin', 'read the password from standard input').conflicts('hashStdin'))
    .addOption(new Option('--hash-stdin', 'read a bcrypt hash from standard input'))
}
