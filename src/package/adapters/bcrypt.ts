export { HashingQueue } from '../../adapters/bcrypt/hashing-queue.ts'
export { bcryptPasswordHasher } from '../../adapters/bcrypt/password-hasher.ts'
