import { Command } from 'commander'
import { addBackupCommands } from './backup/commands.ts'
import { addCompletionCommand } from './completion.ts'
import { addCustomerCommands } from './customer-commands.ts'
import { addDoctorCommand } from './doctor.ts'
import { completeHelp } from './help.ts'
import { type Io, write } from './io.ts'
import { type JsonFlag, toJsonDocument, toResult } from './json.ts'
import { lineWidth } from './line-width.ts'
import type { Operations } from './operations.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { Refusal } from './refusal.ts'
import { addSmokeCommand } from './smoke/command.ts'
import { createTable } from './table.ts'
import { addTokenCommands } from './token-commands.ts'

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
    })

  program.hook('preAction', (_program, command) => operations.begin?.(commandWords(command)))
  program.command('serve').description('run the service (default)').action(operations.serve)

  program
    .command('migrate')
    .description('bring the database to the current schema')
    .option('--check', 'only list pending migrations; exit 1 if there are any')
    .addOption(jsonOption())
    .action(({ check, json = false }: JsonFlag & { check?: boolean }) =>
      check ? checkMigrations(json) : applyMigrations(json),
    )

  addCustomerCommands(program, operations, io)
  addTokenCommands(program, operations, io)
  addBackupCommands(program, operations, io)

  program
    .command('service-token')
    .description('secrets for programs without a customer')
    .command('new')
    .addOption(jsonOption())
    .description('print a new secret for SERVICE_TOKENS')
    .action(async (flags: JsonFlag) => {
      const secret = operations.newServiceToken()
      await write(io.stdout, toResult(flags, { secret }, secret))
    })

  program
    .command('routes')
    .addOption(jsonOption())
    .description('list the routes, who may call, with which abilities or scopes')
    .action((flags: JsonFlag) => listRoutes(flags))
  program.command('openapi').description('print the OpenAPI document of the routes').action(printOpenApi)

  addDoctorCommand(program, operations, io)
  addSmokeCommand(program, io)
  addCompletionCommand(program, io)
  completeHelp(program, lineWidth(io.stderr))

  return program

  async function listRoutes({ json = false }: JsonFlag): Promise<void> {
    if (json) {
      const routes = (await operations.routes()).map(({ isPageAsset, ...route }) => ({
        ...route,
        is_page_asset: isPageAsset,
      }))
      await write(io.stdout, toJsonDocument({ routes }))
      return
    }
    // The assets of the pages, such as `/docs/page.js`, would hide the other routes.
    const routes = (await operations.routes()).filter(({ isPageAsset }) => !isPageAsset)
    const rows = routes.map(({ method, path, auth, abilities, scopes }) => [
      method,
      path,
      auth,
      [...abilities, ...scopes].join(', '),
    ])
    const heading = ['METHOD', 'PATH', 'AUTH', 'ABILITIES OR SCOPES']
    await write(io.stdout, createTable(heading, lineWidth(io.stdout))(rows))
  }

  async function printOpenApi(): Promise<void> {
    const { document, problems } = await operations.openApi()
    await write(io.stderr, problems.map((problem) => `latchkey: ${printable(problem)}\n`).join(''))
    await write(io.stdout, toJsonDocument(document))
  }

  async function applyMigrations(json: boolean): Promise<void> {
    const applied = await operations.migrate()
    const lines = applied.map((name) => `Applied ${printable(name)}.\n`)
    const text = lines.join('') || 'The schema is current.\n'
    await write(io.stdout, json ? toJsonDocument({ applied }) : text)
  }

  async function checkMigrations(json: boolean): Promise<void> {
    const pending = await operations.pendingMigrations()
    const lines = pending.map((name) => `${printable(name)}\n`)
    const text = lines.join('') || 'The schema is current.\n'
    await write(io.stdout, json ? toJsonDocument({ pending }) : text)
    if (pending.length > 0)
      throw new Refusal(`Migrations are pending: ${pending.length}. Apply them with the command migrate.`)
  }
}

function commandWords(command: Command): string {
  const { parent } = command
  return parent?.parent == null ? command.name() : `${parent.name()} ${command.name()}`
}
