#!/usr/bin/env node
// Must parse on old versions of Node, to report that they are too old.
import { existsSync } from 'node:fs'

const source = new URL('../src/main.ts', import.meta.url)
const built = new URL('../dist/main.js', import.meta.url)
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node 20.19 or newer is needed; this is ${process.versions.node}.`)
} else if (!existsSync(source)) {
  await import(built.href)
} else if (await translatesTypeScript()) {
  await import(source.href)
} else {
  fail('The development packages are missing; run npm ci, or npm run build and node dist/main.js.')
}

// In this process, so that the service receives its signals.
async function translatesTypeScript() {
  try {
    const { register } = await import('tsx/esm/api')
    register()
    return true
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return false
    throw error
  }
}

function fail(line) {
  process.stderr.write(`latchkey: ${line}\n`)
  process.exitCode = 1
}
