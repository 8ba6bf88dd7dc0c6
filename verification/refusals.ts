import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** The message of Node's diagnostics channels about a request. */
interface Handled {
  readonly request: object
  readonly response: { readonly statusCode: number }
}

/** Measures the time of each 503, from the head of the request to the end of the response. */
export function watchRefusals(): { stop(): readonly number[] } {
  const beganMs = new WeakMap<object, number>()
  const times: number[] = []
  const started = (message: unknown) => {
    beganMs.set((message as Handled).request, performance.now())
  }
  const finished = (message: unknown) => {
    const { request, response } = message as Handled
    if (response.statusCode === 503) times.push(performance.now() - (beganMs.get(request) ?? Number.NaN))
  }
  subscribe('http.server.request.start', started)
  subscribe('http.server.response.finish', finished)
  return {
    stop() {
      unsubscribe('http.server.request.start', started)
      unsubscribe('http.server.response.finish', finished)
      return times
    },
  }
}
