// Copies the running Node, and the libraries that it and bcrypt have loaded, to a folder: `node deploy/copy-node.js <folder>`.
// deploy/Dockerfile makes the image of it, without a shell or a package manager.
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const [, , root = ''] = process.argv
await import('@node-rs/bcrypt')
const loaded = process.report.getReport().sharedObjects
// nsswitch.conf makes name lookups read /etc/hosts first. The kernel maps one library that has no file.
const files = [process.execPath, '/etc/nsswitch.conf', ...loaded].filter(
  (file) => existsSync(file) && !file.startsWith(process.cwd()),
)
for (const file of files) cpSync(file, join(root, file), { dereference: true })
