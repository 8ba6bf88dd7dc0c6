import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { PASSWORD } from '../tests/support/running-app.ts'

/** A request that was sent, and its outcome. */
export interface RespondedRequest {
  readonly path: string
  /** The time of sending, by `performance.now()`. */
  readonly sentMs: number
  readonly tookMs: number
  /** The status, or the error code of the connection. */
  readonly seen: number | string | undefined
  /** Whether an instance responded; otherwise it was the balancer. */
  readonly byInstance: boolean
}

/** A load that runs until all of its requests were sent. */
export interface Load {
  /** Resolves once this number of requests was sent. */
  until(sent: number): Promise<void>
  readonly ended: Promise<readonly RespondedRequest[]>
}

/** One of this number of requests is a login. */
const LOGINS = 10

/**
 * Sends `rate` requests a second on persistent connections, whatever their outcome: validations of a token, and logins
 * of these customers in turn.
 */
export function startLoad({
  url,
  rate,
  count,
  token,
  emails,
}: {
  readonly url: string
  readonly rate: number
  readonly count: number
  readonly token: string
  readonly emails: readonly string[]
}): Load {
  // Round robin, so that no connection is idle for long.
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' })
  const responses: Promise<RespondedRequest>[] = []
  const ended = send()
  return {
    ended,
    async until(sent) {
      while (responses.length < sent) await sleep(50)
    },
  }

  async function send(): Promise<readonly RespondedRequest[]> {
    const beganMs = performance.now()
    while (responses.length < count) {
      const due = Math.min(count, ((performance.now() - beganMs) * rate) / 1000)
      while (responses.length < due) responses.push(sendOne(responses.length))
      await sleep(5)
    }
    const all = await Promise.all(responses)
    agent.destroy()
    return all
  }

  function sendOne(n: number): Promise<RespondedRequest> {
    if (n % LOGINS > 0) return post('/api/me', { Authorization: `Bearer ${token}` })
    const body = JSON.stringify({ email: emails[(n / LOGINS) % emails.length], password: PASSWORD })
    return post('/api/login', { 'Content-Type': 'application/json' }, body)
  }

  function post(path: string, headers: Record<string, string>, body = ''): Promise<RespondedRequest> {
    const sentMs = performance.now()
    return new Promise((resolve) => {
      const responded = (seen: RespondedRequest['seen'], byInstance = false) =>
        resolve({ path, sentMs, tookMs: performance.now() - sentMs, seen, byInstance })
      request(url + path, { method: 'POST', agent, headers })
        .on('response', (response) =>
          response
            .resume()
            .once('end', () => responded(response.statusCode, response.headers['x-request-id'] !== undefined))
            .once('error', (error: NodeJS.ErrnoException) => responded(error.code)),
        )
        .on('error', (error: NodeJS.ErrnoException) => responded(error.code))
        .end(body)
    })
  }
}
