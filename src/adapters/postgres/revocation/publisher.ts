import type { Client } from 'pg'
import type { Statement } from '../connection/session.ts'
import { createReconnectingClient } from './reconnecting-client.ts'
import { TRIGGER_FINGERPRINT, TRIGGER_PROBLEMS, type TriggerState } from './trigger-state.ts'

/** Publishes messages to all instances, in order, over a separate connection. */
export interface Publisher {
  /** Publishes the payload as soon as the connection is free. Without a connection the payload is lost. */
  publish(payload: string): void
  /** Closes the connection once all payloads are published. */
  close(): Promise<void>
}

/** Creates a publisher. `url` may be that of a transaction pooler, because each statement is one transaction. */
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
  /** Called for each heartbeat and ask once its statement has committed, with the state of the triggers that it found. */
  readonly onPublished: (payload: string, triggers: TriggerState) => void
  readonly onDown: (reason: string) => void
}): Publisher {
  let client: Client | null = null
  let queued: string[] = []
  let publishing: Promise<void> | null = null
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
      queued = []
      onDown(reason)
    },
  })

  return {
    publish(payload) {
      if (client === null) return
      queued.push(payload)
      if (publishing === null) publishing = publishAll(client)
    },
    async close() {
      await publishing
      await connection.close()
    },
  }

  async function query(connected: Client, { name, text }: Statement, values: unknown[]) {
    return (await connected.query<Partial<TriggerState>>({ ...(prepared && { name }), text, values })).rows
  }

  async function publishAll(connected: Client): Promise<void> {
    try {
      while (client === connected && queued.length > 0) {
        const payloads = queued
        queued = []
        if (!payloads.some(isVerified)) {
          await query(connected, PUBLISH, [payloads])
          continue
        }
        const [found] = await query(connected, PUBLISH_AND_VERIFY, [payloads])
        // The triggers rarely change, and reading their problems costs more than the fingerprint.
        if (found?.fingerprint !== triggers.fingerprint) {
          const [read] = await query(connected, READ_TRIGGERS, [])
          triggers = { fingerprint: read?.fingerprint ?? '', problems: read?.problems ?? [] }
        }
        for (const payload of payloads) if (isVerified(payload)) onPublished(payload, triggers)
      }
    } catch (error) {
      if (client === connected) connection.renew((error as Error).message)
    } finally {
      publishing = client === null || client === connected ? null : publishAll(client)
    }
  }
}

/** Whether the statement must read the state of the triggers, because a lease or an acknowledgement depends on it. */
function isVerified(payload: string): boolean {
  return / (beat|ask) /.test(payload)
}

// Notifications do not survive a crash, so the commit waits for neither the disk nor a standby. Notifying commits run one
// after the other, and one of them may wait for a lost standby: the server cancels before this process does, otherwise
// each attempt would leave a backend behind. The settings end with the statement's transaction.
const PUBLISH = {
  name: 'publish',
  text: `
    select set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '800ms', true),
           (select count(latchkey_send(payload)) from unnest($1::text[]) as payload)`,
}

const PUBLISH_AND_VERIFY = {
  name: 'publish_and_verify',
  text: `${PUBLISH.text}, ${TRIGGER_FINGERPRINT} as fingerprint`,
}

const READ_TRIGGERS = {
  name: 'read_triggers',
  text: `select ${TRIGGER_FINGERPRINT} as fingerprint, array(${TRIGGER_PROBLEMS}) as problems`,
}
