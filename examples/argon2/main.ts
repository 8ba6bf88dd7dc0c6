import { runProgram } from 'latchkey'
import { argon2PasswordHasher } from './src/password-hasher.ts'

await runProgram({
  version: '1.0.0',
  // The cost of the stored bcrypt hashes. Leave it out once none is stored.
  adapters: { passwords: argon2PasswordHasher({ bcryptCost: 12 }) },
})
