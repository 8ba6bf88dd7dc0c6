/** Four instances behind HAProxy on this machine, to look at: `npm run cluster-demo`, until Ctrl-C. */
import { mkdtempSync, rmSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedPostgres } from '../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { hasHaProxy, openHaProxy } from '../tests/support/haproxy.ts'
import { type RunningProcess, runLatchkey, startLatchkey } from '../tests/support/running-process.ts'

const INSTANCES = 4
const EMAIL = 'demo@example.com'

const asked = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
})
process.exitCode = hasHaProxy() ? await demonstrate() : await refuse()

async function refuse(): Promise<number> {
  process.stderr.write('cluster-demo: HAProxy is not installed: on Debian, apt-get install haproxy.\n')
  return 1
}

/** Starts everything, tells what to try, and ends everything in the opposite order. */
async function demonstrate(): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-demo-'))
  // The account that runs the server has to pass through.
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
    closings.push(() => endAll(instances))
    // Apart from the terminal: they would hear a Ctrl-C twice, and a second signal ends them at once.
    for (let n = 0; n < INSTANCES; n++)
      instances.push(startLatchkey(['serve'], { cwd: home, env, detached: true }))
    const addresses = instances.map((instance) => instance.until(/"address":"(http:[^"]+)"/))
    const urls = (await Promise.all(addresses)).map(([, url = '']) => url)
    const balancer = await openHaProxy(urls.map((url) => Number(new URL(url).port)))
    closings.push(() => balancer.close())
    process.stdout.write(welcome(balancer.url, urls, password))
    await asked
    return 0
  } catch (error) {
    process.stderr.write(`cluster-demo: ${(error as Error).message}\n`)
    return 1
  } finally {
    for (const close of closings.reverse()) await close()
  }
}

async function endAll(instances: readonly RunningProcess[]): Promise<void> {
  for (const { child } of instances) child.kill('SIGINT')
  await Promise.all(instances.map(({ ended }) => ended))
}

function welcome(url: string, instances: readonly string[], password: string): string {
  return `HAProxy at ${url}, in front of ${instances.join(', ')}.

Log in by way of the balancer, and show the token to each instance:

  TOKEN=$(curl -sS ${url}/api/login \\
    -H 'Content-Type: application/json' -d '{"email":"${EMAIL}","password":"${password}"}' |
    sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')
${instances.map((instance) => `  curl -sS -w '\\n' -X POST ${instance}/api/me -H "Authorization: Bearer $TOKEN"`).join('\n')}

Log out, and each instance refuses it:

  curl -sS -w '\\n' -X POST ${url}/api/logout -H "Authorization: Bearer $TOKEN"
${instances.map((instance) => `  curl -sS -w '\\n' -X POST ${instance}/api/me -H "Authorization: Bearer $TOKEN"`).join('\n')}

Ctrl-C ends everything, and leaves nothing.
`
}
