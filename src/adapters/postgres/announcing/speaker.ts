import type { Client } from 'pg'
import { lastingClient } from './lasting-client.ts'
import { CHANNEL } from './notices.ts'
import { TRIGGER_FINGERPRINT, TRIGGER_PROBLEMS, type TriggerState } from './trigger-state.ts'

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
  prepared,
  onUp,
  onPublished,
  onDown,
}: {
  readonly url: string
  /** False for a pooler that breaks prepared statements. */
  readonly prepared: boolean
  readonly onUp: () => void
  /** Called for each payload when its statement has committed, with the state of the triggers that it found. */
  readonly onPublished: (payload: string, triggers: TriggerState) => void
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
        const payloads = unsaid
        unsaid = []
        const { rows } = await by.query({
          ...(prepared && { name: PUBLISH.name }),
          text: PUBLISH.text,
          values: [payloads],
        })
        const triggers: TriggerState = { ...rows[0], fingerprint: rows[0].fingerprint ?? '' }
        for (const payload of payloads) onPublished(payload, triggers)
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
const PUBLISH = {
  name: 'publish',
  text: `
    select set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '800ms', true),
           (select count(pg_notify('${CHANNEL}', payload)) from unnest($1::text[]) as payload),
           ${TRIGGER_FINGERPRINT} as fingerprint, array(${TRIGGER_PROBLEMS}) as problems`,
}
