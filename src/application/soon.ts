/** An answer that may be there already, so that whoever asked need not wait a turn for it. */
export type Soon<T> = T | Promise<T>

/**
 * Whether an answer is still to come. Adapters and handlers may have it of a library whose promises are none of the
 * language's, such as a query that is sent when somebody first waits for it.
 */
export function isLater<T>(answer: Soon<T>): answer is Promise<T> {
  return answer instanceof Promise || typeof (answer as PromiseLike<T> | undefined)?.then === 'function'
}

/** Goes on with an answer: at once where it is there. */
export function whenThere<T, U>(answer: Soon<T>, goOn: (answer: T) => Soon<U>): Soon<U> {
  return isLater(answer) ? Promise.resolve(answer).then(goOn) : goOn(answer)
}
