// The limit of login: bcrypt alone. Verifies a hash with this concurrency for this many seconds, and prints the rate.
import { verify } from '@node-rs/bcrypt'

const [passwordHash, parallelism, seconds] = process.argv.slice(2)
let verified = 0
const startMs = performance.now()
const endMs = startMs + Number(seconds) * 1000
await Promise.all(
  Array.from({ length: Number(parallelism) }, async () => {
    while (performance.now() < endMs) {
      await verify('wrong horse 9', passwordHash)
      verified += 1
    }
  }),
)
process.stdout.write(`${(verified / (performance.now() - startMs)) * 1000}\n`)
