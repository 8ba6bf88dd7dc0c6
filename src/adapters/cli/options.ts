import { Option } from 'commander'

/** The option of every command that prints a result. */
export function jsonOption(): Option {
  return new Option('--json', 'print one JSON document')
}

/** The option of every command that destroys something. */
export function yesOption(): Option {
  return new Option('--yes', 'do not ask on the terminal')
}
