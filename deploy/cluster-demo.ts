/** Runs four instances behind HAProxy on this machine until Ctrl-C: `npm run cluster-demo`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedPostgres } from '../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { hasHaProxy, openHaProxy } from '../tests/support/haproxy.ts'
import { type RunningProcess, runLatchkey, startLatchkey } from '../tests/support/running-process.ts'

const INSTANCES = 4
const EMAIL = 'demo@example.com'

const interrupted = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
})
process.exitCode = hasHaProxy() ? await demonstrate() : refuse()

function refuse(): number {
  process.stderr.write('cluster-demo: HAProxy is not installed: on Debian, apt-get install haproxy.\n')
  return 1
}

/** Starts everything, prints commands to try, and stops everything in reverse order. */
async function demonstrate(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-demo-'))
  // The account of the PostgreSQL server needs to traverse this folder.
  await chmod(home, 0o755)
  const closings: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })]
  try {
    const database = await openEmbeddedPostgres({ dataDir: join(home, 'data'), home, role: 'service' })
    closings.push(() => database.close())
    const env = { DATABASE_URL: database.url, PORT: '0', HOST: '127.0.0.1', TRUST_PROXY: '1' }
    const password = crypto.randomUUID()
    const add = ['customer', 'add', EMAIL, '--password-stdin']
    const { code, stderr } = await runLatchkey(add, { cwd: home, env, input: password })
    if (code !== 0) throw new Error(stderr)
    const instances: RunningProcess[] = []
    closings.push(() => stopAll(instances))
    // Detached from the terminal: otherwise they would receive Ctrl-C twice, and the second signal stops them at once.
    for (let n = 0; n < INSTANCES; n++)
      instances.push(startLatchkey(['serve'], { cwd: home, env, detached: true }))
    const addresses = instances.map((instance) => instance.until(/"address":"(http:[^"]+)"/))
    const urls = (await Promise.all(addresses)).map(([, url = '']) => url)
    const balancer = await openHaProxy(urls.map((url) => Number(new URL(url).port)))
    closings.push(() => balancer.close())
    process.stdout.write(welcome(balancer.url, urls, password))
    await interrupted
    return 0
  } catch (error) {
    process.stderr.write(`cluster-demo: ${(error as Error).message}\n`)
    return 1
  } finally {
    for (const close of closings.reverse()) await close()
  }
}

async function stopAll(instances: readonly RunningProcess[]): Promise<void> {
  for (const { child } of instances) child.kill('SIGINT')
  await Promise.all(instances.map(({ ended }) => ended))
}

function welcome(url: string, instances: readonly string[], password: string): string {
  return `HAProxy at ${url}, in front of ${instances.join(', ')}.

Log in through the load balancer, and call each instance with the token:

  TOKEN=$(curl -sS ${url}/api/login \\
    -H 'Content-Type: application/json' -d '{"email":"${EMAIL}","password":"${password}"}' |
    sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
${instances.map((instance) => `  curl -sS -w '\\n' -X POST ${instance}/api/me -H "Authorization: Bearer $TOKEN"`).join('\n')}

Log out, and each instance refuses the token:

  curl -sS -w '\\n' -X POST ${url}/api/logout -H "Authorization: Bearer $TOKEN"
${instances.map((instance) => `  curl -sS -w '\\n' -X POST ${instance}/api/me -H "Authorization: Bearer $TOKEN"`).join('\n')}

Ctrl-C stops everything and removes all data.
`
}
