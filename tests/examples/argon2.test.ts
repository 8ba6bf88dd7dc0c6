import { testStoreExample } from '../support/example.ts'

testStoreExample({ title: 'The service with Argon2id', name: 'argon2', skip: false, passing: 25 })
