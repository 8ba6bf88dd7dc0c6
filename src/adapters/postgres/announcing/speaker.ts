import type { Client } from 'pg'
import { lastingClient } from './lasting-client.ts'
import { CHANNEL } from './notices.ts'

/** Says notices to all instances, in order, over a connection of its own. */
export interface Speaker {
  /** Says it as soon as the connection is free; without a connection it is lost. */
  say(payload: string): void
  /** Closes the connection once all is said. */
  close(): Promise<void>
}

/** A speaker on the database of a URL, which may be a pooler's: each sentence is one transaction. */
export function speaker({
  url,
  onUp,
  onDown,
}: {
  readonly url: string
  readonly onUp: () => void
  readonly onDown: (reason: string) => void
}): Speaker {
  let client: Client | null = null
  let unsaid: string[] = []
  let saying: Promise<void> | null = null
  const connection = lastingClient({
    url,
    name: 'latchkey heartbeat',
    prepare: async () => {},
    onUp(connected) {
      client = connected
      onUp()
    },
    onDown(reason) {
      client = null
      unsaid = []
      onDown(reason)
    },
  })

  return {
    say(payload) {
      if (client === null) return
      unsaid.push(payload)
      if (saying === null) saying = sayAll(client)
    },
    async close() {
      await saying
      await connection.close()
    },
  }

  async function sayAll(by: Client): Promise<void> {
    try {
      while (client === by && unsaid.length > 0) {
        const sentence = sentenceOf(by, unsaid)
        unsaid = []
        await by.query(sentence)
      }
    } catch (error) {
      if (client === by) connection.renew((error as Error).message)
    } finally {
      saying = client === null || client === by ? null : sayAll(client)
    }
  }
}

// Nothing of this outlives a crash, so no commit waits for the disk, nor for a standby. Notifying commits follow one
// another, and one of them may wait for a standby that is gone: the server gives up before this process does, or each
// attempt would leave a backend behind. The settings end with the statement's transaction.
function sentenceOf(client: Client, payloads: readonly string[]): string {
  const said = payloads.map((payload) => `pg_notify('${CHANNEL}', ${client.escapeLiteral(payload)})`)
  const settings = `set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '800ms', true)`
  return `select ${settings}, ${said.join(', ')}`
}
