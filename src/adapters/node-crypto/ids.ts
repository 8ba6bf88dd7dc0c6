import { randomUUID } from 'node:crypto'
import type { Ids } from '../../application/ports/clock.ts'

/** Random UUIDs (RFC 9562, version 4). */
export const randomIds: Ids = { next: () => randomUUID() }
