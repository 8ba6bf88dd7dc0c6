import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { GATEWAYS } from '../../tests/support/gateways.ts'
import { createQuickClient } from '../../tests/support/quick-client.ts'
import { PASSWORD } from '../../tests/support/running-app.ts'
import { type Cluster, type Member, post, withCluster } from '../cluster.ts'
import { NOTHING_APPLIED } from '../naive-forms.ts'
import { type Row, Skipped, type Trial } from '../row.ts'
import { shown } from '../scene.ts'

/** Requests after each logout. Tests of few requests have more logouts. */
const CHECKS = { few: 30, many: 600 }
const MANY = 100_000
const CONNECTIONS = 3

/** Revocations are exact behind a gateway, which asks one of several instances about each request. */
export const gatewayRows: readonly Row[] = [
  {
    id: 'G20',
    promise:
      'nginx asks `/forward-auth` of one of three instances: it passes on no request that begins after a logout on any of them',
    sizes: { ci: 3000, release: 1_000_000, mutant: 600 },
    mutants: [NOTHING_APPLIED],
    async run(trial) {
      const nginx = GATEWAYS.find(({ name }) => name === 'nginx')
      if (!nginx?.isInstalled) throw new Skipped('nginx is not installed')
      const application = createServer((request, response) => {
        request.resume()
        response.end('application')
      })
      application.listen(0, '127.0.0.1')
      await once(application, 'listening')
      const { port } = application.address() as AddressInfo
      try {
        // Clients reach nginx through another proxy, which names their addresses.
        const options = { revocation: 'strict', customers: 16, env: { TRUST_PROXY: '2' } } as const
        await withCluster(trial, options, async (cluster) => {
          const gateway = await nginx.open(Number(new URL(cluster.members[0].url()).port), port)
          try {
            await checkAroundLogouts(trial, cluster, gateway.url)
          } finally {
            await gateway.close()
          }
        })
      } finally {
        application.closeAllConnections()
        application.close()
      }
    },
  },
]

async function checkAroundLogouts(trial: Trial, { members, emails }: Cluster, url: string): Promise<void> {
  const client = createQuickClient()
  const checksEach = trial.size < MANY ? CHECKS.few : CHECKS.many
  let [checks, logouts, acceptedBefore] = [0, 0, 0]

  async function liveAs(email: string): Promise<void> {
    while (checks < trial.size) {
      const login = await post(anyOf(members), '/api/login', { body: { email, password: PASSWORD } })
      const token: string | undefined = login?.body?.token
      if (token === undefined) {
        trial.require(false, () => `a login is ${login && shown(login)}`)
        return
      }
      // The instance that nginx asks has it in its cache.
      if ((await client.get(url, token)) === 200) acceptedBefore += 1
      let isAcknowledged = false
      let left = checksEach
      const load = Array.from({ length: CONNECTIONS }, async () => {
        while (left > 0) {
          const counts = isAcknowledged
          const status = await client.get(url, token)
          if (!counts) continue
          checks += 1
          left -= 1
          trial.expect(status === 401, () => `a token that was revoked is ${status}`)
        }
      })
      await sleep(Math.random() * 20)
      const logout = await post(anyOf(members), '/api/logout', { token })
      // No 200, no acknowledgement: the requests end, and prove nothing.
      trial.require(logout?.status === 200, () => `a logout is ${logout && shown(logout)}`)
      isAcknowledged = logout?.status === 200
      if (isAcknowledged) logouts += 1
      else left = 0
      await Promise.all(load)
    }
  }

  await Promise.all(emails.map(liveAs))
  client.close()
  trial.note(
    `${checks} requests after ${logouts} logouts; before them, ${acceptedBefore} tokens were accepted`,
  )
  trial.require(
    acceptedBefore === logouts,
    () => `${acceptedBefore} of ${logouts} tokens were accepted before`,
  )
}

function anyOf(members: readonly Member[]): Member {
  return members[Math.floor(Math.random() * members.length)] as Member
}
