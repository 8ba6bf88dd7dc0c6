import type { Client } from 'pg'
import type { Statement } from '../connection/session.ts'
import { CHANNEL } from './notifications.ts'
import { createReconnectingClient } from './reconnecting-client.ts'
import { TRIGGER_FINGERPRINT, TRIGGER_PROBLEMS, type TriggerState } from './trigger-state.ts'

/** Says notices to all instances, in order, over a connection of its own. */
export interface Publisher {
  /** Says it as soon as the connection is free; without a connection it is lost. */
  say(payload: string): void
  /** Closes the connection once all is said. */
  close(): Promise<void>
}

/** A speaker on the database of a URL, which may be a pooler's: each sentence is one transaction. */
export function createPublisher({
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
  /** Called for each heartbeat and ask when its statement has committed, with the state of the triggers that it found. */
  readonly onPublished: (payload: string, triggers: TriggerState) => void
  readonly onDown: (reason: string) => void
}): Publisher {
  let client: Client | null = null
  let unsaid: string[] = []
  let saying: Promise<void> | null = null
  let triggers: TriggerState = { fingerprint: '', problems: [] }
  const connection = createReconnectingClient({
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

  async function query(by: Client, { name, text }: Statement, values: unknown[]) {
    return (await by.query<Partial<TriggerState>>({ ...(prepared && { name }), text, values })).rows
  }

  async function sayAll(by: Client): Promise<void> {
    try {
      while (client === by && unsaid.length > 0) {
        const payloads = unsaid
        unsaid = []
        if (!payloads.some(isVerified)) {
          await query(by, PUBLISH, [payloads])
          continue
        }
        const [found] = await query(by, PUBLISH_AND_VERIFY, [payloads])
        // A change of the triggers is rare, and reading what is wrong with them costs more than the fingerprint.
        if (found?.fingerprint !== triggers.fingerprint) {
          const [read] = await query(by, READ_TRIGGERS, [])
          triggers = { fingerprint: read?.fingerprint ?? '', problems: read?.problems ?? [] }
        }
        for (const payload of payloads) if (isVerified(payload)) onPublished(payload, triggers)
      }
    } catch (error) {
      if (client === by) connection.renew((error as Error).message)
    } finally {
      saying = client === null || client === by ? null : sayAll(client)
    }
  }
}

/** Whether its statement has to read the state of the triggers: a lease or an acknowledgement depends on it. */
function isVerified(payload: string): boolean {
  return / (beat|ask) /.test(payload)
}

// Nothing of this outlives a crash, so no commit waits for the disk, nor for a standby. Notifying commits follow one
// another, and one of them may wait for a standby that is gone: the server gives up before this process does, or each
// attempt would leave a backend behind. The settings end with the statement's transaction.
const PUBLISH = {
  name: 'publish',
  text: `
    select set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '800ms', true),
           (select count(pg_notify('${CHANNEL}', payload)) from unnest($1::text[]) as payload)`,
}

const PUBLISH_AND_VERIFY = {
  name: 'publish_and_verify',
  text: `${PUBLISH.text}, ${TRIGGER_FINGERPRINT} as fingerprint`,
}

const READ_TRIGGERS = {
  name: 'read_triggers',
  text: `select ${TRIGGER_FINGERPRINT} as fingerprint, array(${TRIGGER_PROBLEMS}) as problems`,
}
