import type { Row } from './row.ts'
import { departureRows } from './rows/abandoned-requests.ts'
import { discoveryRows } from './rows/account-enumeration.ts'
import { auditRows } from './rows/audit-log.ts'
import { raceRows } from './rows/concurrent-writes.ts'
import { failoverRows } from './rows/database-failover.ts'
import { outageRows } from './rows/database-outages.ts'
import { flappingRows } from './rows/flapping-database.ts'
import { gatewayRows } from './rows/gateways.ts'
import { hostileRows } from './rows/hostile-text.ts'
import { clusterRows } from './rows/instances.ts'
import { reuseRows } from './rows/keep-alive-reuse.ts'
import { linkRows } from './rows/listener-connections.ts'
import { overloadRows } from './rows/load-shedding.ts'
import { contentionRows } from './rows/locked-rows.ts'
import { stormRows } from './rows/login-storms.ts'
import { revocationRows } from './rows/logout-races.ts'
import { methodRows } from './rows/methods.ts'
import { guessingRows } from './rows/password-guessing.ts'
import { credentialRows } from './rows/passwords.ts'
import { portRows } from './rows/port-faults.ts'
import { settlingRows } from './rows/repeated-revocations.ts'
import { bodyRows } from './rows/request-bodies.ts'
import { framingRows } from './rows/request-framing.ts'
import { historyRows } from './rows/revocation-history.ts'
import { modelRows } from './rows/revocation-models.ts'
import { restartRows } from './rows/rolling-restarts.ts'
import { logRows } from './rows/secrets-in-logs.ts'
import { scopeRows } from './rows/service-scopes.ts'
import { sessionRows } from './rows/sessions.ts'
import { clientRows } from './rows/slow-clients.ts'
import { standbyRows } from './rows/standby-promotion.ts'
import { throttleMemoryRows } from './rows/throttle-memory.ts'
import { cachingRows } from './rows/token-cache.ts'
import { verifierFaultRows } from './rows/verifier-faults.ts'
import { verifierModelRows } from './rows/verifier-models.ts'

/** Every row, in the order of the table. */
export const ROWS: readonly Row[] = [
  ...modelRows,
  ...verifierModelRows,
  ...verifierFaultRows,
  ...revocationRows,
  ...linkRows,
  ...clusterRows,
  ...gatewayRows,
  ...historyRows,
  ...settlingRows,
  ...raceRows,
  ...sessionRows,
  ...framingRows,
  ...bodyRows,
  ...methodRows,
  ...credentialRows,
  ...discoveryRows,
  ...guessingRows,
  ...scopeRows,
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
