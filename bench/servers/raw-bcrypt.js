// The limit of login: bcrypt alone. Given a hash, how many to verify at once and a number of seconds, prints how many
// a second.
import { verify } from '@node-rs/bcrypt'

const [passwordHash, parallelism, seconds] = process.argv.slice(2)
let verified = 0
const beganMs = performance.now()
const endMs = beganMs + Number(seconds) * 1000
await Promise.all(
  Array.from({ length: Number(parallelism) }, async () => {
    while (performance.now() < endMs) {
      await verify('wrong horse 9', passwordHash)
      verified += 1
    }
  }),
)
process.stdout.write(`${(verified / (performance.now() - beganMs)) * 1000}\n`)
