/** What is wrong with one variable. None of its texts repeats a value that was given. */
export interface ConfigurationProblem {
  /** The variable that was set, `_FILE` included. */
  readonly name: string
  /** Whole sentences. */
  readonly problem: string
  /** An accepted setting, such as `PORT=3000`. */
  readonly example: string
}

/** The environment cannot be obeyed; `message` has one line for each problem, and there may be many. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused'
  /** The message is written for operators and is shown as it is. */
  readonly forOperators = true
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(({ name, problem, example }) => `${name}: ${problem} Example: ${example}`).join('\n'))
    this.problems = problems
  }
}
