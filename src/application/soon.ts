/** An answer that may be there already, so that whoever asked need not wait a turn for it. */
export type Soon<T> = T | Promise<T>

/** Goes on with an answer: at once where it is there. */
export function whenThere<T, U>(answer: Soon<T>, goOn: (answer: T) => Soon<U>): Soon<U> {
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer)
}
