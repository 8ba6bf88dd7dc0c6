import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { page } from '../bench/report.ts'
import { goal } from '../bench/samples.ts'
import { estimate, slope } from '../bench/statistics.ts'
import { type Summary, withOtherNodes } from '../bench/summary.ts'
import { buildProgram } from './support/built-program.ts'
import { startProcess, UNCOUNTED } from './support/running-process.ts'

const ROOT = join(import.meta.dirname, '..')
const TIMEOUT = { timeout: 600_000 }

describe('The benchmark', () => {
  it('measures the memory of cached validations on the compiled program', TIMEOUT, async (t) => {
    const program = buildProgram()
    t.after(() => program.remove())
    const args = ['--expose-gc', 'bench/servers/memory.js', join(program.path, '../../dist'), '200']
    const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: ROOT }).ended
    assert.equal(code, 0, stderr)
    const { bytes, longestStopMs } = JSON.parse(stdout)
    assert.ok(bytes > 0 && longestStopMs > 0, stdout)
  })

  it(
    'compares this checkout with a commit on a machine without wrk, and leaves no worktree',
    TIMEOUT,
    async (t) => {
      const { code, stdout, stderr } = await runBench(t, ['--against', 'HEAD', '--quick', '--rounds', '1'])
      assert.equal(code, 0, stderr)
      for (const kind of ['cached me', 'uncached me', 'wrong checksum', 'login', 'logout']) {
        assert.match(
          stdout,
          new RegExp(`\\| ${kind} +\\| [\\d.,]+ \\(.*\\| (slower|faster|no difference shown)`),
        )
      }
      assert.deepEqual(worktrees(), [])
    },
  )

  it('names an unknown commit in one line, and leaves no worktree', TIMEOUT, async (t) => {
    const { code, stderr } = await runBench(t, ['--against', 'no-such-commit', '--quick'])
    assert.equal(code, 1)
    assert.match(stderr, /^bench: no-such-commit cannot be checked out: .*$/m)
    assert.deepEqual(worktrees(), [])
  })

  for (const [args, line] of [
    [['--only', 'nothing'], 'bench: There is no part nothing.'],
    [['--rounds', '0'], 'bench: --rounds must be a whole number from 1 to 9999.'],
    [['--node', '/no/such/node'], 'bench: /no/such/node is not a Node program.'],
    [['--soak-minutes', 'x'], 'bench: --soak-minutes must be a positive number.'],
  ] as const) {
    it(`rejects ${args.join(' ')}`, TIMEOUT, async (t) => {
      const { code, stderr } = await runBench(t, args)
      assert.equal(code, 2)
      assert.equal(stderr.split('\n')[0], line)
    })
  }

  it('lists missed goals first on the page of a release', () => {
    const goals = [
      { ...goal({ id: 'P1', what: 'throughput' }, [1, 2, 3], { min: 2 }), node: '20' },
      { ...goal({ id: 'P10', what: 'memory' }, [1, 2, 3], { max: 1 }), node: '20' },
    ]
    const part = { title: 'Part', about: 'About.', rounds: 3, tables: [], goals, where: 'here' }
    const text = page({ version: '1.2.3', parts: { part } })
    assert.match(
      text,
      /## Missed goals\n\n.*\n.*\n\| P10 .*2\.00 \(1\.00–3\.00\) \| no .*\n\n## Goals met\n\n.*\n.*\n\| P1 /,
    )
  })
})

describe('A run on one version of Node', () => {
  it('replaces the figures of that version, and keeps those of the others', () => {
    const part = (figures: Readonly<Record<string, string>>): Summary => ({
      title: 'Part',
      about: 'About.',
      rounds: 3,
      tables: [
        { head: ['Node', 'figure'], rows: Object.entries(figures).map(([node, text]) => [node, text]) },
      ],
      goals: Object.keys(figures).map((node) => ({
        ...goal({ id: 'P1', what: 'figure' }, [Number(figures[node])], { min: 2 }),
        node,
      })),
    })
    const { tables, goals } = withOtherNodes(part({ '24.1.0': '3' }), part({ '26.0.0': '4', '24.1.0': '1' }))
    assert.deepEqual(tables[0]?.rows, [
      ['24.1.0', '3'],
      ['26.0.0', '4'],
    ])
    assert.deepEqual(
      goals.map(({ node, measured }) => [node, measured.slice(0, 1)]),
      [
        ['24.1.0', '3'],
        ['26.0.0', '4'],
      ],
    )
  })
})

describe('The interval of a median', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => count - index)

  it('is that of order statistics, with a confidence of at least 95 %', () => {
    // The ranks of published tables, such as those of Conover, Practical Nonparametric Statistics.
    for (const [count, low, high] of [
      [6, 1, 6],
      [9, 2, 8],
      [15, 4, 12],
      [20, 6, 15],
      [25, 8, 18],
    ] as const) {
      assert.deepEqual(estimate(upTo(count)), { median: (count + 1) / 2, low, high }, String(count))
    }
  })

  it('is the range of few values', () => {
    assert.deepEqual(estimate([3, 1, 2, 5, 4]), { median: 3, low: 1, high: 5 })
    assert.deepEqual(estimate([7]), { median: 7, low: 7, high: 7 })
  })
})

describe('The slope of memory', () => {
  it('is that of the least-squares line', () => {
    assert.equal(
      slope([
        [0, 1],
        [1, 3],
        [2, 5],
      ]),
      2,
    )
    assert.equal(
      slope([
        [0, 0],
        [1, 3],
        [2, 0],
      ]),
      0,
    )
  })
})

describe('The client of the benchmark', () => {
  it(
    'counts responses, failures and refusals of open and closed loops, pipelined or not',
    TIMEOUT,
    async (t) => {
      const server = createServer((request, response) => {
        const status = Number(request.url?.slice(1))
        if (status === 0) response.destroy()
        else response.writeHead(status, status === 201 ? {} : { 'Content-Length': 2 }).end('ok')
      }).listen(0, '127.0.0.1')
      t.after(() => server.close())
      await new Promise((resolve) => server.once('listening', resolve))
      const text = (status: number) => `GET /${status} HTTP/1.1\r\nHost: x\r\n\r\n`
      const once = { connections: 2, isOnce: true }
      const streams = {
        mixed: { requests: [200, 500, 0, 200, 201].map(text), ...once },
        refused: { requests: [503, 200].map(text), ...once, isRetried: true },
        unauthorized: { requests: [401, 401].map(text), ...once, status: 401 },
        pipelined: { requests: [text(200)], ...once, pipelined: 50 },
        paced: { requests: [text(200)], connections: 2, ratePerSecond: 100 },
      }
      const { port } = server.address() as AddressInfo
      const folder = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'options.json')
      const url = `http://127.0.0.1:${port}`
      writeFileSync(file, JSON.stringify({ url, seconds: 2, warmSeconds: 0, streams }))
      const args = ['bench/clients/client.js', file]
      const { code, stdout, stderr } = await startProcess(process.execPath, args, {
        cwd: ROOT,
        env: UNCOUNTED,
      }).ended
      assert.equal(code, 0, stderr)
      const result = JSON.parse(stdout)
      const counts = (name: string) => [result[name].requests, result[name].failed, result[name].refused]
      assert.deepEqual(counts('mixed'), [2, 3, 0])
      assert.deepEqual(counts('refused'), [1, 0, 1])
      assert.deepEqual(counts('unauthorized'), [2, 0, 0])
      assert.deepEqual(counts('pipelined'), [50, 0, 0])
      assert.equal(result.paced.failed, 0)
      // By the clock: a slow machine starts them later, not fewer of them, except for the last ones.
      assert.ok(result.paced.requests > 0 && result.paced.requests <= 200, stdout)
      assert.ok(result.paced.p50Ms > 0 && result.paced.p999Ms >= result.paced.p99Ms, stdout)
    },
  )
})

/** Runs the benchmark with only the programs of its requirements in the path: there is no wrk. */
function runBench(t: TestContext, args: readonly string[]) {
  const path = mkdtempSync(join(tmpdir(), 'latchkey-path-'))
  t.after(() => rmSync(path, { recursive: true }))
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  symlinkSync(git, join(path, 'git'))
  const { TEST_DATABASE_URL = '' } = process.env
  const env = { PATH: path, TEST_DATABASE_URL, ...UNCOUNTED }
  return startProcess(process.execPath, ['--import', 'tsx', 'bench/run.ts', ...args], { cwd: ROOT, env })
    .ended
}

/** Returns the worktrees of the benchmark: other tests have theirs meanwhile. */
function worktrees(): readonly string[] {
  const list = execFileSync('git', ['-C', ROOT, 'worktree', 'list'], { encoding: 'utf8' })
  return list.split('\n').filter((line) => line.includes('latchkey-bench-'))
}
