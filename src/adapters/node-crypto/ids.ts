import { randomUUID } from 'node:crypto'
import type { Ids } from '../../application/ports/ids.ts'

/** Random UUIDs (RFC 9562, version 4). */
export const randomIds: Ids = { next: () => randomUUID() }
