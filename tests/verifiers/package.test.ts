import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { type BuiltProgram, buildProgram } from '../support/built-program.ts'
import { startProcess } from '../support/running-process.ts'
import { scriptedInstance } from '../support/scripted-verifiers.ts'

const FOUND = { customer: 'c1', email: 'a@b', token: 't1', name: 'login', abilities: ['*'] }

/** Verifies a token twice, and reports how long the loading took and whether the second result was a promise. */
const PROGRAM = `
const verifier = createVerifier({ url: process.env.URL, serviceToken: 'secret' })
const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5)) }
;(async () => {
  await until(() => verifier.isCaching())
  const first = await verifier.verify(process.env.TOKEN)
  const second = verifier.verify(process.env.TOKEN)
  console.log(JSON.stringify({ ms, email: first.email, isPromise: second instanceof Promise, isSame: first === second }))
  await verifier.close()
})()
`

describe('latchkey/verify as the package ships it, without any other package', () => {
  let built: BuiltProgram
  let folder: string
  before(() => {
    built = buildProgram()
    folder = dirname(dirname(built.path))
    // Neither a database driver nor the embedded PostgreSQL, nor anything else.
    rmSync(join(folder, 'node_modules'))
  })
  after(() => built.remove())

  for (const [name, file, load] of [
    ['an ES module', 'program.mjs', "const { createVerifier } = await import('latchkey/verify')"],
    ['CommonJS', 'program.cjs', "const { createVerifier } = require('latchkey/verify')"],
  ] as const)
    test(`is loaded by ${name}, and returns a hit without a promise`, async (t) => {
      writeFileSync(
        join(folder, file),
        `const beganMs = performance.now()\n${load}\nconst ms = performance.now() - beganMs\n${PROGRAM}`,
      )
      const instance = await scriptedInstance()
      t.after(() => instance.close())
      const token = tokenSecrets({ prefix: 'lk' }).issue().secret
      const program = startProcess(process.execPath, [join(folder, file)], {
        cwd: folder,
        env: { URL: instance.url, TOKEN: token },
      })
      const [kind, n] = (await instance.next()).split(' ')
      assert.equal(kind, 'find')
      instance.send(`found ${n} ${JSON.stringify({ ...FOUND, expires: null, keep: 60_000 })}`)
      const { code, stdout, stderr } = await program.ended
      assert.equal(code, 0, stderr)
      const { ms, ...result } = JSON.parse(stdout)
      assert.deepEqual(result, { email: 'a@b', isPromise: false, isSame: true })
      t.diagnostic(`${name} loads it in ${ms.toFixed(0)} ms`)
    })
})
