import type { Command } from 'commander'

/** One example of each command, by its words. */
const EXAMPLES: Readonly<Record<string, string>> = {
  '': 'latchkey serve',
  serve: 'PORT=8080 latchkey serve',
  migrate: 'latchkey migrate --check',
  customer: 'latchkey customer add ana@example.com',
  'customer add': 'latchkey customer add ana@example.com --name Ana',
  'customer import': 'latchkey customer import customers.csv --dry-run',
  'customer list': 'latchkey customer list --json',
  'customer show': 'latchkey customer show ana@example.com',
  'customer password': 'latchkey customer password ana@example.com',
  'customer disable': 'latchkey customer disable ana@example.com',
  'customer enable': 'latchkey customer enable ana@example.com',
  'customer delete': 'latchkey customer delete ana@example.com',
  token: 'latchkey token list ana@example.com',
  'token create':
    'latchkey token create ana@example.com --name bot \\\n    --ability orders:read --expires 90d',
  'token list': 'latchkey token list ana@example.com',
  'token revoke':
    'latchkey token revoke ana@example.com --name bot\n  latchkey token revoke --issued-before 2h',
  'token prune': 'latchkey token prune --older-than 90d',
  'service-token': 'latchkey service-token new',
  'service-token new': 'latchkey service-token new',
  routes: 'latchkey routes',
  openapi: 'latchkey openapi > openapi.json',
  doctor: 'latchkey doctor --all',
  smoke: 'latchkey smoke https://api.example.com --email smoke@example.com',
}

/** Adds an example to the help of every command, and `help <command>`, which names a command that does not exist. */
export function completeHelp(program: Command): void {
  addExamples(program, [])
  addHelpCommand(program)
}

function addExamples(command: Command, words: readonly string[]): void {
  const example = EXAMPLES[words.join(' ')]
  if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${example}`)
  for (const next of command.commands) {
    addExamples(next, [...words, next.name()])
    if (next.commands.length > 0) addHelpCommand(next)
  }
}

function addHelpCommand(group: Command): void {
  group.helpCommand(false)
  group
    .command('help')
    .argument('[command...]')
    .description('show the help of a command')
    .action((words: readonly string[]) => {
      let command = group
      for (const word of words) {
        const next = command.commands.find((one) => one.name() === word)
        if (next === undefined) group.error(`error: unknown command '${words.join(' ')}'`)
        else command = next
      }
      command.outputHelp()
    })
}
