export { bcryptPasswordHasher } from '../../adapters/bcrypt/password-hasher.ts'
