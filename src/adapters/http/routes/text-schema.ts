import * as v from 'valibot'

/** Returns a text schema that a rule of the domain checks. `problem` returns a sentence, or null for valid text. */
export function text(problem: (input: string) => string | null) {
  return v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? problem(dataset.value) : null
      if (message !== null) addIssue({ message })
    }),
  )
}
