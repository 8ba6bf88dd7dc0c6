import type { Row } from './row.ts'
import { auditRows } from './rows/audit.ts'
import { bodyRows } from './rows/bodies.ts'
import { cachingRows } from './rows/caching.ts'
import { clientRows } from './rows/clients.ts'
import { clusterRows } from './rows/cluster.ts'
import { contentionRows } from './rows/contention.ts'
import { credentialRows } from './rows/credentials.ts'
import { departureRows } from './rows/departures.ts'
import { discoveryRows } from './rows/discovery.ts'
import { failoverRows } from './rows/failover.ts'
import { flappingRows } from './rows/flapping.ts'
import { framingRows } from './rows/framing.ts'
import { guessingRows } from './rows/guessing.ts'
import { historyRows } from './rows/history.ts'
import { hostileRows } from './rows/hostile.ts'
import { linkRows } from './rows/links.ts'
import { logRows } from './rows/logs.ts'
import { methodRows } from './rows/methods.ts'
import { modelRows } from './rows/model.ts'
import { outageRows } from './rows/outages.ts'
import { overloadRows } from './rows/overload.ts'
import { portRows } from './rows/ports.ts'
import { raceRows } from './rows/races.ts'
import { restartRows } from './rows/restarts.ts'
import { reuseRows } from './rows/reuse.ts'
import { revocationRows } from './rows/revocation.ts'
import { settlingRows } from './rows/settling.ts'
import { standbyRows } from './rows/standby.ts'
import { stormRows } from './rows/storms.ts'
import { throttleMemoryRows } from './rows/throttle-memory.ts'

/** Every row, in the order of the table. */
export const ROWS: readonly Row[] = [
  ...modelRows,
  ...revocationRows,
  ...linkRows,
  ...clusterRows,
  ...historyRows,
  ...settlingRows,
  ...raceRows,
  ...framingRows,
  ...bodyRows,
  ...methodRows,
  ...credentialRows,
  ...discoveryRows,
  ...guessingRows,
  ...throttleMemoryRows,
  ...hostileRows,
  ...outageRows,
  ...contentionRows,
  ...flappingRows,
  ...failoverRows,
  ...standbyRows,
  ...clientRows,
  ...overloadRows,
  ...stormRows,
  ...departureRows,
  ...restartRows,
  ...reuseRows,
  ...cachingRows,
  ...logRows,
  ...auditRows,
  ...portRows,
]
