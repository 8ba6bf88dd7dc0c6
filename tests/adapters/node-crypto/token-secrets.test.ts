import { tokenSecrets } from '../../../src/adapters/node-crypto/token-secrets.ts'
import { tokenSecretsContract } from '../../../src/testing/contracts/token-secrets.ts'

tokenSecretsContract('node:crypto', (prefix) => tokenSecrets({ prefix }))
