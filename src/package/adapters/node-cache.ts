export { nodeCache } from '../../adapters/node-cache/cache.ts'
