import type { Socket } from 'node:net'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import type { VerifierHub } from '../../../application/verifiers/verifier-hub.ts'
import { Unavailable } from '../../../domain/errors.ts'
import { InvalidParameters } from '../errors.ts'
import { serviceToken } from '../request/bearer-token.ts'
import type { Context } from '../request/context.ts'
import { declareRoute, type Route } from '../routing/declared-route.ts'
import { ProtocolUpgrade, VERIFIER_PROTOCOL } from './upgrade.ts'
import { VerifierLink } from './verifier-link.ts'
import { type LookupServices, VerifierLookups } from './verifier-lookups.ts'

/** What the route needs of the service. */
export interface VerifiersOptions extends LookupServices {
  readonly hub: VerifierHub
  readonly maxVerifiers: number
}

/** Returns the route on which verifiers open their connection. */
export function verifiersRoute(
  useCases: Pick<UseCases, 'verifyServiceToken'>,
  options: VerifiersOptions,
): Route {
  const { hub, maxVerifiers } = options
  return declareRoute('', 'GET /verifiers', {
    auth: 'service',
    scopes: ['verify'],
    summary: 'The connection of a verifier',
    tags: ['Verification'],
    handle(context: Pick<Context, 'requester' | 'headers'> & { readonly service: string }) {
      const { headers, requester, service } = context
      if (!asksForUpgrade(headers) || requester.request.httpVersion !== '1.1')
        throw new InvalidParameters(`This path takes only the upgrade to ${VERIFIER_PROTOCOL}.`)
      if (hub.isLeaving || hub.size >= maxVerifiers) throw new Unavailable()
      const [name = ''] = [headers['latchkey-verifier']].flat()
      const safe = /^[\w-]{1,64}$/.test(name) ? name : requester.requestId
      return new ProtocolUpgrade(VERIFIER_PROTOCOL, (socket: Socket) => {
        const isAllowed = () => isAccepted(requester, useCases)
        const lookups = new VerifierLookups(options, service, requester)
        const link = new VerifierLink(socket, lookups, {
          name: `${service} ${safe}`,
          service,
          requester,
          isAllowed,
        })
        try {
          // Registered before its first line is read.
          link.start(hub.open(link))
        } catch {
          // The audit log cannot be written.
          socket.destroy()
        }
      })
    },
  })
}

/** Whether both headers ask for the protocol: `Upgrade` alone is of another connection (RFC 9110, section 7.8). */
function asksForUpgrade({ upgrade, connection }: Context['headers']): boolean {
  const options = String(connection)
    .toLowerCase()
    .split(/[\s,]+/)
  return String(upgrade).toLowerCase() === VERIFIER_PROTOCOL && options.includes('upgrade')
}

function isAccepted(
  requester: Context['requester'],
  useCases: Pick<UseCases, 'verifyServiceToken'>,
): boolean {
  try {
    useCases.verifyServiceToken(serviceToken(requester.head.authorization), ['verify'], requester)
    return true
  } catch {
    return false
  }
}
