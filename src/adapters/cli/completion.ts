import { Argument, type Command } from 'commander'
import { type Io, write } from './io.ts'

/** A command as a completion script knows it. */
interface Level {
  /** Its words after the program's name, each followed by a space. */
  readonly path: string
  readonly commands: readonly Candidate[]
  readonly options: readonly Candidate[]
}

interface Candidate {
  readonly word: string
  readonly meaning: string
}

const SCRIPTS = { bash: bashScript, zsh: zshScript } as const

/** Adds the command that prints a script with which a shell completes commands, options and file names. */
export function addCompletionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .description('print the completion script of a shell')
    .action(async (shell: keyof typeof SCRIPTS) => {
      await write(io.stdout, SCRIPTS[shell](listLevels(program, '')))
    })
}

function listLevels(command: Command, path: string): readonly Level[] {
  const level = {
    path,
    commands: command.commands.map((next) => ({ word: next.name(), meaning: next.description() })),
    options: command
      .createHelp()
      .visibleOptions(command)
      .map(({ long, description }) => ({ word: long ?? '', meaning: description })),
  }
  return [level, ...command.commands.flatMap((next) => listLevels(next, `${path}${next.name()} `))]
}

function bashScript(levels: readonly Level[]): string {
  const list = (candidates: readonly Candidate[]) => quoted(candidates.map(({ word }) => word).join(' '))
  return `# bash: source <(latchkey completion bash)
_latchkey() {
  local current=\${COMP_WORDS[COMP_CWORD]} at= commands= options= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${pathCase(levels)}
  done
  case "$at" in
${levels.map(({ path, commands, options }) => `    ${quoted(path)}) commands=${list(commands)} options=${list(options)} ;;`).join('\n')}
  esac
  [[ $current == -* ]] && commands=$options
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -o default -F _latchkey latchkey
`
}

function zshScript(levels: readonly Level[]): string {
  const list = (candidates: readonly Candidate[]) =>
    `(${candidates.map(({ word, meaning }) => quoted(`${word}:${meaning}`)).join(' ')})`
  return `#compdef latchkey
# zsh: source <(latchkey completion zsh), after compinit
_latchkey() {
  local at= word
  local -a subcommands flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
${pathCase(levels)}
  done
  case "$at" in
${levels.map(({ path, commands, options }) => `    ${quoted(path)}) subcommands=${list(commands)} flags=${list(options)} ;;`).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option flags
  elif (( $#subcommands )); then
    _describe command subcommands
  else
    _files
  fi
}
if [[ $funcstack[1] == _latchkey ]]; then _latchkey "$@"; else compdef _latchkey latchkey; fi
`
}

/** Extends the path `at` by a word that is a command there; other words are arguments and options. */
function pathCase(levels: readonly Level[]): string {
  const paths = levels.flatMap(({ path }) => (path === '' ? [] : [quoted(path.trimEnd())]))
  return `    case "$at$word" in\n      ${paths.join('|')}) at="$at$word " ;;\n    esac`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
