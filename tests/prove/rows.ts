import type { Row } from './row.ts'
import { bodyRows } from './rows/bodies.ts'
import { cachingRows } from './rows/caching.ts'
import { clientRows } from './rows/clients.ts'
import { clusterRows } from './rows/cluster.ts'
import { contentionRows } from './rows/contention.ts'
import { credentialRows } from './rows/credentials.ts'
import { failoverRows } from './rows/failover.ts'
import { framingRows } from './rows/framing.ts'
import { historyRows } from './rows/history.ts'
import { hostileRows } from './rows/hostile.ts'
import { linkRows } from './rows/links.ts'
import { logRows } from './rows/logs.ts'
import { methodRows } from './rows/methods.ts'
import { modelRows } from './rows/model.ts'
import { outageRows } from './rows/outages.ts'
import { portRows } from './rows/ports.ts'
import { raceRows } from './rows/races.ts'
import { revocationRows } from './rows/revocation.ts'

/** Every row that is tried, in the order of the table. */
export const ROWS: readonly Row[] = [
  ...modelRows,
  ...revocationRows,
  ...linkRows,
  ...clusterRows,
  ...historyRows,
  ...raceRows,
  ...framingRows,
  ...bodyRows,
  ...methodRows,
  ...credentialRows,
  ...hostileRows,
  ...outageRows,
  ...contentionRows,
  ...failoverRows,
  ...clientRows,
  ...cachingRows,
  ...logRows,
  ...portRows,
]
