import type { Command } from 'commander'
import { wrapText } from './line-width.ts'
import { MANUAL } from './manual.ts'
import { printable } from './printable.ts'

const HELP_WIDTH = 80

/**
 * Adds an example and the exit code 1 to the help of every command, `help <command>`, and to every error of usage the
 * command that prints the help. Each error is one line, which a terminal of `maxWidth` columns shows as several.
 */
export function completeHelp(program: Command, maxWidth: number): void {
  completeCommand(program, [], maxWidth)
  addHelpCommand(program)
}

function completeCommand(command: Command, words: readonly string[], maxWidth: number): void {
  const { example, fails } = MANUAL[words.join(' ')] ?? { example: null, fails: null }
  if (example !== null) command.addHelpText('after', `\nExample:\n  ${example}`)
  if (fails !== null)
    command.addHelpText('after', `\n${wrapText('Exit code 1: ', `${fails}.`, HELP_WIDTH).trimEnd()}`)
  const help = ['latchkey', ...words, '--help'].join(' ')
  command.configureOutput({
    outputError(text, writeErr) {
      const problem = printable(
        text
          .trim()
          .replace(/^error: /, '')
          .replace('\n', ' ')
          .replace(/\.$/, ''),
      )
      writeErr(wrapText('latchkey: ', `${problem}. See ${help}.`, maxWidth))
    },
  })
  for (const next of command.commands) {
    completeCommand(next, [...words, next.name()], maxWidth)
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
