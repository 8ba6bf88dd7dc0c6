import type { Row } from './row.ts'
import { bodyRows } from './rows/bodies.ts'
import { clientRows } from './rows/clients.ts'
import { framingRows } from './rows/framing.ts'
import { inputRows } from './rows/input.ts'
import { logRows } from './rows/logs.ts'
import { methodRows } from './rows/methods.ts'
import { outageRows } from './rows/outages.ts'

/** Every row that is tried, in the order of the table. */
export const ROWS: readonly Row[] = [
  ...framingRows,
  ...bodyRows,
  ...methodRows,
  ...inputRows,
  ...outageRows,
  ...clientRows,
  ...logRows,
]
