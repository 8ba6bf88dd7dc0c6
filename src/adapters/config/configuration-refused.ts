import { OperatorError } from '../../lib/operator-error.ts'
/** The problem of one variable. No text repeats the variable's value. */
export interface ConfigurationProblem {
  /** The variable that was set, with `_FILE` if that was set. */
  readonly name: string
  /** Whole sentences. */
  readonly problem: string
  /** An accepted assignment, such as `PORT=3000`. */
  readonly example: string
}

/** The configuration is invalid. `message` has one line for each problem. */
export class ConfigurationRefused extends OperatorError {
  override readonly name = 'ConfigurationRefused'
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(({ name, problem, example }) => `${name}: ${problem} Example: ${example}`).join('\n'))
    this.problems = problems
  }
}
