import type { Instance, InstanceOptions } from '../../../src/adapters/postgres/revocation/protocol.ts'
import type { TriggerState } from '../../../src/adapters/postgres/revocation/trigger-state.ts'

/** Another version of the protocol. `broadcasting` is this one without a channel for each instance. */
export type Version = 'previous' | 'broadcasting' | 'next'

/** Creates an instance of a version, from one of this version. */
export function instanceOfVersion(
  version: Version,
  create: (options: InstanceOptions) => Instance,
  options: InstanceOptions,
): Instance {
  switch (version) {
    case 'previous':
      return previousInstance(create(options))
    case 'broadcasting':
      return create(options)
    case 'next':
      return nextInstance(create, options)
  }
}

/** Uses the public channel alone. After a payload that it cannot decode, it has no lease until its next connection. */
function previousInstance(instance: Instance): Instance {
  return {
    ...instance,
    received() {},
    receivedInPublic(payload) {
      if (payload.startsWith('1 ')) instance.received(payload)
      else instance.disconnected()
    },
  }
}

/** Sends payloads of a version that others cannot decode, and decodes theirs. */
function nextInstance(create: (options: InstanceOptions) => Instance, options: InstanceOptions): Instance {
  const encode = (payload: string) => payload.replace(/^1 /, '3 ')
  const decode = (payload: string) => payload.replace(/^3 /, '1 ')
  const instance = create({ ...options, send: (payload) => options.send(encode(payload)) })
  return {
    ...instance,
    received: (payload) => instance.received(decode(payload)),
    published: (payload: string, triggers: TriggerState) => instance.published(decode(payload), triggers),
  }
}
