export { accessLog } from '../../adapters/access-log/access-log.ts'
export { blockWriter, type Lines } from '../../adapters/access-log/block-writer.ts'
export type { AccessLogMode } from '../../application/ports/access-log.ts'
