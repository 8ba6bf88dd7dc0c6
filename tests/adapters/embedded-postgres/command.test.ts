import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
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

test('five concurrent commands on an empty folder all work, with one initdb and one server', async (t) => {
  const home = testFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const commands = [1, 2, 3, 4, 5].map(() => openInProcess(t, { home, role: 'command' }))
  const opened = await Promise.all(commands.map((command) => command.opened()))
  assert.equal(opened.filter((fact) => fact.created).length, 1)
  assert.equal(postmastersOf(cluster).length, 1)
  for (const { url } of opened) assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  await Promise.all(commands.map((command) => command.close()))
  assert.deepEqual(serverProcessesOf(cluster), [])
  t.diagnostic(
    `5 of 5 commands, 1 cluster made, slowest ${Math.max(...opened.map((fact) => fact.tookMs ?? 0))} ms`,
  )
})

test('commands and a service that start concurrently share one server, which the service takes over', async (t) => {
  const home = testFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const command = openInProcess(t, { home, role: 'command' })
  const service = openInProcess(t, { home, role: 'service' })
  const other = openInProcess(t, { home, role: 'command' })
  const { url } = await service.opened()
  const closed = await Promise.all([command, other].map(async (one) => (await one.opened()) && one.close()))
  assert.equal(closed.length, 2)
  assert.equal(postmastersOf(cluster).length, 1)
  assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  await service.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
})

test('a command uses the server of the running service and leaves it running', async (t) => {
  const home = await preparedFolder(t)
  const service = openHere(t, { home, role: 'service' })
  const { url } = await service.opened()
  const [postmaster] = postmastersOf(join(home, 'data', 'postgres'))
  const command = openHere(t, { home, role: 'command' })
  assert.equal((await command.opened()).url, url)
  await command.close()
  assert.deepEqual(postmastersOf(join(home, 'data', 'postgres')), [postmaster])
  await service.close()
})

test('a command leaves the server that it started while another client is connected', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const command = openHere(t, { home, role: 'command' })
  const { url } = await command.opened()
  const longQuery = query(url, 'select pg_sleep(2)')
  await eventually(async () => {
    const rows = await query(
      url,
      `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()`,
    )
    assert.equal(rows.length, 1)
  })
  await command.close()
  assert.equal(postmastersOf(cluster).length, 1)
  await longQuery
  const next = openHere(t, { home, role: 'command' })
  await next.opened()
  await next.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
})

test('the server of a killed service is stopped by the next command, and reported by the next service', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  for (const role of ['service', 'command'] as const) {
    const killed = openInProcess(t, { home, role: 'service' })
    assert.deepEqual((await killed.opened()).notes, [])
    await killed.kill()
    assert.equal(postmastersOf(cluster).length, 1)
    const next = openInProcess(t, { home, role })
    const { notes = [] } = await next.opened()
    assert.equal(notes.length, role === 'service' ? 1 : 0)
    assert.match(notes.join(), role === 'service' ? /service that was killed/ : /^$/)
    await next.close()
    assert.deepEqual(serverProcessesOf(cluster), [])
  }
})

test('the server of a killed command is stopped by the next command', async (t) => {
  const home = await preparedFolder(t)
  const cluster = join(home, 'data', 'postgres')
  const killed = openInProcess(t, { home, role: 'command' })
  await killed.opened()
  await killed.kill()
  assert.equal(postmastersOf(cluster).length, 1)
  const next = openInProcess(t, { home, role: 'command' })
  await next.opened()
  const closed = await next.close()
  assert.deepEqual(serverProcessesOf(cluster), [])
  t.diagnostic(`close ${closed.tookMs} ms`)
})

test('the remains of a process killed during initdb are removed, and the cluster is created again', async (t) => {
  const home = testFolder(t)
  const rounds = 2
  for (let round = 1; round <= rounds; round += 1) {
    const killed = openInProcess(t, { home, role: round % 2 === 0 ? 'service' : 'command' })
    await eventually(() => assert.ok(drafts(home).length > 0))
    await sleep(150 * round)
    await killed.kill()
  }
  const left = drafts(home).length
  const next = openInProcess(t, { home, role: 'service' })
  const { url, created } = await next.opened()
  assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  assert.deepEqual(drafts(home), [])
  await next.close()
  t.diagnostic(`${rounds} killed, ${left} half-made left, then made: ${created}`)
})

function drafts(home: string): string[] {
  try {
    return readdirSync(join(home, 'data')).filter((name) => name.startsWith('.initdb-'))
  } catch {
    return []
  }
}
