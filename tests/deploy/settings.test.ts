import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import { SETTINGS } from '../../src/adapters/config/settings.ts'
import { DEPLOY, isInstalled } from '../support/balancer.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { hasHaProxy, openHaProxy } from '../support/haproxy.ts'
import { hasNginx, openNginx } from '../support/nginx.ts'

const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8')
const readUncommented = (name: string) => read(name).replace(/^ *#.*\n/gm, '')
const haproxy = readUncommented('haproxy.cfg')
const nginx = readUncommented('nginx.conf')
const dockerfile = read('Dockerfile')
const unit = read('latchkey.service')
const compose = parse(read('compose.yaml'))

interface ComposeService {
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly string[]
}

/** The configuration that the service reads from these settings. */
const readSettings = (env: Record<string, string>) => readConfiguration({ env, dotEnv: null }).configuration
const defaults = readSettings({})
const names = new Set<string>(SETTINGS.flatMap(({ name }) => [name, `${name}_FILE`]))

/** Returns the duration in the pattern's one group in milliseconds. */
function ms(text: string, pattern: RegExp): number {
  const [, value = ''] = pattern.exec(text) ?? []
  const [, count, unitName] = /^(\d+)(ms|s)$/.exec(value) ?? []
  assert.ok(count !== undefined, `no match for ${pattern}`)
  return Number(count) * (unitName === 's' ? 1000 : 1)
}

const composeEnv = compose.services.latchkey1.environment
const deployments = {
  'the image': readSettings({ DRAIN_DELAY: /DRAIN_DELAY=(\S+)/.exec(dockerfile)?.[1] ?? '' }),
  compose: readSettings({ DRAIN_DELAY: composeEnv.DRAIN_DELAY }),
  'the unit': readSettings({ DRAIN_DELAY: /DRAIN_DELAY=(\S+)/.exec(unit)?.[1] ?? '' }),
}

describe('the deployment files', () => {
  test('name only existing settings', () => {
    const inDockerfile = [...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/(\w+)=/g)]
    const inUnit = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => [
      ...line.matchAll(/(\w+)=/g),
    ])
    const named = [...inDockerfile, ...inUnit].map(([, name = '']) => name).concat(Object.keys(composeEnv))
    assert.ok(named.length >= 8)
    assert.deepEqual(
      named.filter((name) => !['NODE_ENV', 'PATH'].includes(name) && !names.has(name)),
      [],
    )
  })

  for (const [where, { drainDelayMs, drainDeadlineMs }] of Object.entries(deployments)) {
    test(`let ${where} serve until balancers have noticed the drain`, () => {
      const noticed =
        ms(haproxy, / inter (\S+)/) + ms(haproxy, / fastinter (\S+)/) + ms(haproxy, /timeout check (\S+)/)
      assert.ok(haproxy.includes('fall 2 '), 'the balancer notices after two checks')
      assert.ok(drainDelayMs >= 2 * noticed, `${drainDelayMs} ms, noticed within ${noticed} ms`)
      assert.ok(
        drainDelayMs > ms(nginx, /^ {4}keepalive_timeout (\S+);/m),
        'nginx closes idle connections before',
      )
      const [, stops] = /TimeoutStopSec=(\d+)s/.exec(unit) ?? []
      for (const graceMs of [ms(compose.services.latchkey1.stop_grace_period, /(.*)/), Number(stops) * 1000])
        assert.ok(graceMs > drainDelayMs + drainDeadlineMs, 'it is killed before it has drained')
    })
  }

  test('give both balancers timeouts that match those of the service', () => {
    const responseMs = defaults.requestTimeoutMs + 3000
    assert.ok(ms(haproxy, /timeout server (\S+)/) > responseMs)
    assert.ok(ms(nginx, /proxy_read_timeout (\S+);/) > responseMs)
    assert.equal(ms(haproxy, /timeout http-request (\S+)/), defaults.headersTimeoutMs)
    assert.equal(ms(nginx, /client_header_timeout (\S+);/), defaults.headersTimeoutMs)
    assert.equal(ms(nginx, /client_body_timeout (\S+);/), defaults.requestTimeoutMs)
    for (const idle of [
      ms(haproxy, /timeout http-keep-alive (\S+)/),
      ms(haproxy, /pool-purge-delay (\S+)/) * 10,
      ms(nginx, /^ {4}keepalive_timeout (\S+);/m),
    ])
      assert.ok(idle < defaults.keepAliveTimeoutMs)
    const [, kilobytes] = /client_max_body_size (\d+)k;/.exec(nginx) ?? []
    assert.equal(Number(kilobytes) * 1024, defaults.bodyLimitBytes)
  })

  test('set TRUST_PROXY and make the proxies send X-Forwarded-For', () => {
    assert.equal(composeEnv.TRUST_PROXY, '1')
    assert.match(haproxy, /^ {2}option forwardfor$/m)
    assert.match(nginx, /proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;/)
  })

  test('show one loop that restarts the instances of compose, which recreates them', () => {
    const [, comment = ''] = /^# {3}(for n in .*)$/m.exec(read('compose.yaml')) ?? []
    const [loop = ''] = fencedBlocks('docs/operations/deployment.md', 'sh').filter((block) =>
      block.startsWith('for'),
    )
    assert.equal(
      loop
        .replace(/\n {2}/, ' ')
        .replace(/\n/, '; ')
        .trim(),
      comment,
    )
    assert.match(comment, / --force-recreate /)
  })

  test('start four hardened instances behind the configured balancer', () => {
    const { services } = compose
    for (const name of ['latchkey1', 'latchkey2', 'latchkey3', 'latchkey4']) {
      const { read_only, cap_drop, security_opt, build } = services[name]
      assert.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']])
      assert.equal(build.dockerfile, 'deploy/Dockerfile')
      assert.equal(services.balancer.environment[name.toUpperCase()], `${name}:3000`)
    }
    assert.deepEqual(services.balancer.volumes, ['./haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro'])
  })

  test('keep every secret of compose in a file, and in no variable', () => {
    for (const [name, { environment = {}, secrets = [] }] of Object.entries<ComposeService>(compose.services))
      for (const [variable, value] of Object.entries(environment)) {
        assert.doesNotMatch(variable, /(PASSWORD|_URL|TOKENS)$/, `${name}: ${variable}`)
        if (variable.endsWith('_FILE'))
          assert.ok(secrets.includes(value.replace('/run/secrets/', '')), `${name}: ${value}`)
      }
    const files = Object.entries<{ file: string }>(compose.secrets)
    assert.equal(files.length, 4)
    for (const [name, { file }] of files) assert.equal(file, `secrets/${name}`)
  })

  test('run the instances as the role of the service, after the owner has applied the migrations', () => {
    const { services } = compose
    const { DATABASE_URL_FILE, MIGRATE } = composeEnv
    assert.deepEqual([DATABASE_URL_FILE, MIGRATE], ['/run/secrets/service-url', 'off'])
    assert.deepEqual(services.latchkey1.depends_on, {
      migrate: { condition: 'service_completed_successfully' },
    })
    const { command, environment } = services.migrate
    assert.deepEqual(command, ['migrate'])
    assert.equal(environment.DATABASE_URL_FILE, '/run/secrets/owner-url')
    const files = services.database.volumes.filter((volume: string) =>
      volume.includes('docker-entrypoint-initdb.d'),
    )
    assert.deepEqual(
      files.map((volume: string) => volume.split(':')[0]),
      ['./roles.sql', './compose-passwords.sql'],
    )
  })

  test('are accepted by HAProxy', { skip: hasHaProxy() ? false : 'HAProxy is not installed' }, async () => {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', join(DEPLOY, 'haproxy.cfg')], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    assert.doesNotMatch(stderr, /WARNING/)
    await (await openHaProxy([1, 2, 3, 4])).close()
  })

  test('are accepted by nginx', { skip: hasNginx() ? false : 'nginx is not installed' }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-nginx-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const args = ['-t', '-c', join(DEPLOY, 'nginx.conf'), '-g', `pid ${join(folder, 'pid')};`]
    const { status, stderr } = spawnSync('nginx', args, { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    assert.doesNotMatch(stderr, /\[warn\]/)
    await (await openNginx([1, 2, 3, 4])).close()
  })

  const analyzes = isInstalled('systemd-analyze', '--version')
  test('are accepted by systemd and have a low exposure level', {
    skip: !analyzes && 'systemd is not installed',
  }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-unit-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'latchkey.service')
    writeFileSync(file, unit.replaceAll('/usr/bin/node', process.execPath))
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    // Before version 254 systemd ignores the two settings of the restart backoff.
    const stderr = verified.stderr.replace(/^.*Unknown key.* '(RestartSteps|RestartMaxDelaySec)' .*\n/gm, '')
    assert.deepEqual([verified.status, stderr], [0, ''])
    const security = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
      encoding: 'utf8',
    })
    const [, exposure] = /Overall exposure level for \S+: (\S+)/.exec(security.stdout) ?? []
    t.diagnostic(`exposure level ${exposure} of 10`)
    assert.ok(Number(exposure) < 2)
  })
})
