import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { programSuite } from '../support/program-suite.ts'
import { latchkeyProgram } from '../support/running-process.ts'

const THREADS = 6
const suite = programSuite()

for (const [what, env] of [
  ['the process', {}],
  ['a worker', { WORKERS: '2', TOKEN_CACHE_TTL: '0s' }],
] as const) {
  test(`The threads on which ${what} hashes passwords have a lower priority than its others`, {
    skip: process.platform !== 'linux',
  }, async () => {
    const { service } = await suite.start({ ...env, UV_THREADPOOL_SIZE: String(THREADS) })
    const primary = service.child.pid ?? 0
    const children = readFileSync(`/proc/${primary}/task/${primary}/children`, 'utf8').trim().split(' ')
    const serving = 'WORKERS' in env ? children.filter(isNode) : [String(primary)]
    assert.equal(serving.length, 'WORKERS' in env ? 2 : 1)
    for (const pid of serving) {
      const lowered = readdirSync(`/proc/${pid}/task`).filter((thread) => niceness(pid, thread) > 0)
      assert.equal(lowered.length, THREADS)
      assert.ok(!lowered.includes(pid))
    }
  })
}

function isNode(pid: string): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(latchkeyProgram.args.at(-1) ?? '')
}

function niceness(pid: string, thread: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16])
}
