import { memoryInvalidations } from '../../../src/adapters/memory/invalidations.ts'
import { invalidationsContract } from '../../contracts/invalidations.ts'

invalidationsContract('the memory', async () => memoryInvalidations())
