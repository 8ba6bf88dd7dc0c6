import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  eventually,
  openHere,
  openInProcess,
  postmastersOf,
  preparedFolder,
  query,
  serverProcessesOf,
  testFolder,
} from './support.ts'

const ROUNDS = Number(process.env.EMBEDDED_POSTGRES_ROUNDS ?? 5)

test('a service creates its database at the first start and reuses it, whatever its folder is called', async (t) => {
  const home = testFolder(t)
  const dataDir = `it's "my" d\u00e4ta, \u{1f511} $HOME`
  const first = openHere(t, { home, dataDir, role: 'service' })
  const { url, created, tookMs, ...fact } = await first.opened()
  assert.equal(created, true)
  assert.equal(fact.dataDir, join(home, dataDir))
  await query(url, 'create table entries (n int)')
  const settings = await query(
    url,
    `select current_database() as database, current_setting('server_encoding') as encoding,
            current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
            current_setting('data_checksums') as checksums, lower('É') as lower`,
  )
  assert.deepEqual(settings, [
    { database: 'latchkey', encoding: 'UTF8', commit: 'on', fsync: 'on', checksums: 'on', lower: 'é' },
  ])
  const closed = await first.close()
  assert.deepEqual(serverProcessesOf(join(home, dataDir, 'postgres')), [])

  const second = openHere(t, { home, dataDir, role: 'service' })
  const again = await second.opened()
  assert.equal(again.created, false)
  assert.equal(again.url, url)
  assert.deepEqual(await query(again.url, 'select count(*)::int as n from entries'), [{ n: 0 }])
  await second.close()
  t.diagnostic(`first start ${tookMs} ms, later start ${again.tookMs} ms, close ${closed.tookMs} ms`)
})

test('the server of a killed service is adopted by the next one, and there are never two', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  let server = 0
  let adopted = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    const service = openInProcess(t, { home, role: 'service' })
    const { url } = await service.opened()
    if (round === 1) await query(url, 'create table rounds (n int)')
    await query(url, `insert into rounds values (${round})`)
    const postmasters = postmastersOf(cluster)
    assert.equal(postmasters.length, 1)
    if (postmasters[0] === server) adopted += 1
    server = postmasters[0] ?? 0
    await service.kill()
  }
  const last = openInProcess(t, { home, role: 'service' })
  const { url } = await last.opened()
  assert.deepEqual(await query(url, 'select count(*)::int as n from rounds'), [{ n: ROUNDS }])
  await last.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
  assert.equal(adopted, ROUNDS - 1)
  t.diagnostic(`${ROUNDS} services killed, ${adopted} of ${ROUNDS - 1} servers adopted, never two`)
})

test('a killed server is restarted within 3 s at the same URL with all committed data', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const service = openHere(t, { home, role: 'service' })
  const { url } = await service.opened()
  await query(url, 'create table entries (n int)')
  const tookMs: number[] = []
  for (let round = 1; round <= ROUNDS; round += 1) {
    await query(url, `insert into entries values (${round})`)
    // Frozen backends outlive their postmaster and hold its shared memory.
    if (round % 2 === 0) for (const pid of serverProcessesOf(cluster)) process.kill(pid, 'SIGSTOP')
    const [postmaster = 0] = postmastersOf(cluster)
    const since = performance.now()
    process.kill(postmaster, 'SIGKILL')
    const rows = await eventually(() => query(url, 'select count(*)::int as n from entries'))
    tookMs.push(Math.round(performance.now() - since))
    assert.deepEqual(rows, [{ n: round }])
    assert.equal(postmastersOf(cluster).length, 1)
  }
  const closed = await service.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
  t.diagnostic(`${ROUNDS} of ${ROUNDS} restarts, at most ${Math.max(...tookMs)} ms (${tookMs.join(', ')})`)
  t.diagnostic(`close ${closed.tookMs} ms`)
})

test('a running server whose check fails is not reported as one that could not be restarted', async (t) => {
  const home = await preparedFolder(t)
  const service = openHere(t, { home, role: 'service' })
  const { url } = await service.opened()
  await query(
    url,
    "alter role current_user password 'another'; select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
  )
  const { event, reason } = await service.fact(({ event }) => event !== undefined)
  assert.equal(event, 'embedded_postgres.check_failed')
  assert.match(reason ?? '', /is not the password of its database/)
  await service.close()
})

test('a second service on the same folder is refused in one line, and the first is not affected', async (t) => {
  const home = await preparedFolder(t)
  const first = openInProcess(t, { home, role: 'service' })
  const { url, dataDir } = await first.opened()
  const second = openInProcess(t, { home, role: 'service' })
  const message = await second.refusal()
  assert.equal(
    message,
    `Another Latchkey service uses the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
  )
  assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  await first.close()
  t.diagnostic('1 of 1 refused')
})

test('of several services that start concurrently on an empty folder, one opens it', async (t) => {
  const home = testFolder(t)
  const services = [1, 2, 3].map(() => openInProcess(t, { home, role: 'service' }))
  const facts = await Promise.all(
    services.map((service) => service.fact((fact) => fact.opened === true || fact.refused !== undefined)),
  )
  assert.equal(facts.filter((fact) => fact.opened).length, 1)
  assert.equal(facts.filter((fact) => fact.message?.startsWith('Another Latchkey service')).length, 2)
  for (const [index, service] of services.entries()) if (facts[index]?.opened) await service.close()
  assert.deepEqual(serverProcessesOf(join(home, 'data', 'postgres')), [])
  t.diagnostic('2 of 3 refused, 1 opened')
})

test('a start waits for a server that is stopping', async (t) => {
  const home = await preparedFolder(t)
  const first = openInProcess(t, { home, role: 'service' })
  const { url } = await first.opened()
  await query(url, 'create table entries as select generate_series(1, 200000) as n')
  await first.kill()
  const [postmaster = 0] = postmastersOf(join(home, 'data', 'postgres'))
  process.kill(postmaster, 'SIGINT')
  const second = openInProcess(t, { home, role: 'service' })
  assert.deepEqual(await query((await second.opened()).url, 'select count(*)::int as n from entries'), [
    { n: 200000 },
  ])
  await second.close()
})

// Public case 100
test('a process that has the process id of a dead server neither blocks a start nor is killed', async (t) => {
  const home = await preparedFolder(t)
  const first = openInProcess(t, { home, role: 'service' })
  await first.opened()
  const cluster = join(home, 'data', 'postgres')
  const bystander = spawn('sleep', ['60'])
  t.after(() => bystander.kill('SIGKILL'))
  await first.kill()
  const [postmaster = 0] = postmastersOf(cluster)
  process.kill(postmaster, 'SIGKILL')
  await eventually(() => assert.deepEqual(serverProcessesOf(cluster), []))
  const file = join(cluster, 'postmaster.pid')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(bystander.pid)))
  const second = openInProcess(t, { home, role: 'service' })
  await second.opened()
  await second.close()
  assert.equal(bystander.exitCode, null)
  assert.equal(bystander.signalCode, null)
})

test('a frozen server is stopped by force within the time limit of close', async (t) => {
  const home = await preparedFolder(t)
  const service = openHere(t, { home, role: 'service' })
  await service.opened()
  const cluster = join(home, 'data', 'postgres')
  for (const pid of serverProcessesOf(cluster)) process.kill(pid, 'SIGSTOP')
  const { tookMs } = await service.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
  t.diagnostic(`closed in ${tookMs} ms`)
})

test('the server has its own process session, and each start begins a new log and keeps one older log', async (t) => {
  const home = await preparedFolder(t)
  for (let start = 1; start <= 2; start += 1) {
    const service = openInProcess(t, { home, role: 'service' })
    await service.opened()
    const [postmaster = 0] = postmastersOf(join(home, 'data', 'postgres'))
    const session = readFileSync(`/proc/${postmaster}/stat`, 'utf8').split(') ')[1]?.split(' ')[3]
    assert.equal(session, String(postmaster))
    await service.close()
  }
  for (const name of ['postgres.log', 'postgres.log.1']) {
    const log = readFileSync(join(home, 'data', name), 'utf8')
    assert.equal(log.match(/LOG: {2}starting PostgreSQL/g)?.length, 1)
  }
})
