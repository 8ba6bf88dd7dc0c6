import { testStoreExample } from '../support/example.ts'

testStoreExample({ title: 'The accounts', name: 'account', skip: false, passing: 8 })
