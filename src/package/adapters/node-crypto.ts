export { randomIds } from '../../adapters/node-crypto/ids.ts'
export { newServiceSecret, serviceSecrets } from '../../adapters/node-crypto/service-secrets.ts'
export { tokenSecrets } from '../../adapters/node-crypto/token-secrets.ts'
