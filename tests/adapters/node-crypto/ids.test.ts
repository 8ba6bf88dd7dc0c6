import { randomIds } from '../../../src/adapters/node-crypto/ids.ts'
import { idsContract } from '../../../src/testing/contracts/ids.ts'

idsContract('node:crypto', () => randomIds)
