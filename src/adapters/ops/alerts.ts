import { type Alert, pageAlert as page, ticketAlert as ticket } from './alert.ts'

/** The alerts of `deploy/prometheus-rules.yaml`, as the operator’s page and the runbook of the documentation show them. */
export const ALERTS = {
  LatchkeyDown: page(
    'Instance does not respond',
    'Prometheus cannot read the metrics of an instance. The others serve its clients.',
    'Is the process running (`systemctl status latchkey`)? Its last log lines. Does its machine respond?',
    'Start it, or remove its target from Prometheus. The section “Instance lost” has more.',
  ),
  LatchkeyNotReady: page(
    'Not ready',
    'Load balancers send this instance no requests. `/readyz` returns 503.',
    'Call `/readyz` with a service token: `checks` names the reason. `database.problem` in the log has the details.',
    'Correct what the check names. Do not restart instances: readiness returns by itself.',
  ),
  LatchkeyDatabaseUnreachable: page(
    'Database unreachable',
    'Requests that need a lookup fail. Cached tokens were accepted for at most one second more.',
    '`latchkey doctor` prints the reason. Is the server up, and does `DATABASE_URL` lead to the primary?',
    'Repair the database. Do not restart instances: they reconnect by themselves.',
  ),
  LatchkeyDatabaseReadOnly: page(
    'Database read-only',
    'Logins, logouts and revocations fail. Valid tokens are accepted.',
    '`database.read_only`, `database.standby_refused` and `database.disk_full` in the log. Was there a failover? Is the disk of the server full?',
    'Point `DATABASE_URL` to the primary, finish the failover, or free space.',
  ),
  LatchkeyMigrationPending: page(
    'Migration pending',
    'The schema is older than this version. The instance serves no requests.',
    '`latchkey migrate --check` lists what is pending.',
    'Run `latchkey migrate` as the owner of the tables.',
  ),
  LatchkeySchemaBroken: page(
    'Schema damaged',
    'A table, privilege, index or trigger that requests need is missing. Without the triggers, no token is cached.',
    '`latchkey doctor` names it. Was a dump restored, or a role changed?',
    'Restore the grants or run `latchkey migrate`. After a restore with `--disable-triggers`, enable each trigger again, with `enable always`.',
  ),
  LatchkeyErrorBudgetBurnsFast: page(
    'Many requests fail',
    'More than 1.44 % of the responses are 5xx: the budget of 0.1 % for a month lasts two days.',
    '`request.failed` in the log has the cause of each: level `error` is a bug, `warn` an outage.',
    'The section “Many 503” of the runbook lists causes and actions. For a bug, go back to the earlier version.',
  ),
  LatchkeyErrorBudgetBurnsSlowly: ticket(
    'Some requests fail',
    'More than 0.6 % of the responses have been 5xx for hours: the budget of 0.1 % for a month lasts five days.',
    '`request.failed` in the log, by `route` and `message`.',
    'As for LatchkeyErrorBudgetBurnsFast.',
  ),
  LatchkeyLatencyBudgetBurnsFast: page(
    'Many requests are slow',
    'More than 14.4 % of the requests take longer than 250 ms, logins not counted.',
    'Which routes (`http_route`)? `db_client_connection_pending_requests`, `nodejs_eventloop_delay_p99_seconds`, `latchkey_lease_held`.',
    'Pool: look for slow statements in `pg_stat_activity`. Event loop: add processors or instances. Lease lost: repair the listener connection.',
  ),
  LatchkeyLatencyBudgetBurnsSlowly: ticket(
    'Some requests are slow',
    'More than 6 % of the requests have taken longer than 250 ms for hours, logins not counted.',
    'As for LatchkeyLatencyBudgetBurnsFast.',
  ),
  LatchkeyCacheSuspended: ticket(
    'Cache suspended',
    'Every token is looked up in the database. Requests are slower, and none is wrong.',
    '`cache.suspended` in the log has the reason: the listener connection, a pooler, a missing trigger, a paused machine.',
    'Set `DATABASE_DIRECT_URL` if a pooler is in between. `latchkey doctor` checks the rest.',
  ),
  LatchkeySlowRevocations: ticket(
    'Revocations are slow',
    'A heartbeat takes longer than 250 ms to return. Logins and logouts wait for it.',
    '`latchkey doctor` prints how long a notification takes. The network to the database server; its load and locks; its notification queue (`pg_notification_queue_usage()`).',
    'Bring the instance nearer to the server, or give the server more processor time. End long transactions of other programs that listen.',
  ),
  LatchkeyLoginsUnavailable: page(
    'Logins are refused',
    'The hashing queue is full, or the database is slow: logins get 503.',
    '`latchkey_hashing_waiting`; `request.failed` in the log; the addresses of `login.failed` in the audit log.',
    'Add processors or instances. If the logins are guesses, block their addresses at the proxy.',
  ),
  LatchkeyHashingQueue: ticket(
    'Passwords wait to be hashed',
    'There are more logins than the processors verify. Logins are slow.',
    '`latchkey doctor` prints the logins a second that this machine can verify.',
    'Add processors or instances. The section “Slow logins” of the runbook has more.',
  ),
  LatchkeyGuessing: ticket(
    'Many failed logins',
    'Five times as many logins fail as succeed. Passwords may be guessed.',
    'The addresses and customers of `login.failed` and `login.throttled` in the audit log.',
    'Block the addresses at the proxy. If a client uses an old password, notify its owner.',
  ),
  LatchkeyPoolExhausted: ticket(
    'Requests wait for a database connection',
    'All connections of the pool are in use. Requests are slow, or get 503 after a second.',
    'Slow or blocked statements in `pg_stat_activity`.',
    'Repair the cause, or raise `DATABASE_POOL_MAX` if the server has room.',
  ),
  LatchkeyEventLoopDelayed: ticket(
    'The process lacks processor time',
    'The event loop is delayed by more than 100 ms. All requests of the instance wait.',
    'Processor time of the machine (`process_cpu_seconds_total`); a handler of your own that computes.',
    'Add processors, `WORKERS` or instances. Move the computation out of the handler.',
  ),
  LatchkeyAuditNotWritten: page(
    'Audit log cannot be written',
    'Logins, logouts and refused tokens get 503, because their events cannot be recorded.',
    '`request.failed` in the log with the code of the system, such as `ENOSPC` or `EPIPE`.',
    'Free space, or correct the permissions of the file of `AUDIT_LOG`.',
  ),
  LatchkeyDiskFilling: ticket(
    'Disk nearly full',
    'Less than 10 % of a disk is free. When it is full, writes fail.',
    'The label `folder`: `AUDIT_LOG` or `DATA_DIR`.',
    'Free space. Rotate the audit log with `deploy/latchkey.logrotate`.',
  ),
  LatchkeyConnectionsNearLimit: ticket(
    'Connections near the limit',
    'More than 90 % of `MAX_CONNECTIONS` are open. At the limit, the longest idle one is closed first.',
    '`latchkey_connections_dropped_total`; clients or a proxy that open many connections.',
    'Raise the descriptor limit and `MAX_CONNECTIONS`, or limit the connections of an address at the proxy.',
  ),
  LatchkeyWorkersRestart: page(
    'Workers end unexpectedly',
    'More than two workers ended within 15 minutes. Requests in progress were lost.',
    '`worker.ended` and `worker.hung` in the log; the kernel’s log for killed processes (`dmesg`).',
    'SIGKILL without `worker.hung`: memory was exhausted, add memory. Otherwise find the error before `worker.ended`.',
  ),
  LatchkeyRestarts: page(
    'Instance restarts again and again',
    'The process started more than twice within 15 minutes.',
    'The last lines of the log before each start; the exit code in `systemctl status latchkey`.',
    'Correct what the last line names. A rollback to the earlier version is safe: schemas are compatible by one version.',
  ),
  LatchkeyStandbyLags: ticket(
    'Standby lags',
    'A standby is more than 30 seconds behind. A failover to it would lose acknowledged revocations, unless it is synchronous.',
    'Network and disk of the standby; `pg_stat_replication` on the primary.',
    'Repair the standby, and do not fail over to it meanwhile.',
  ),
  LatchkeyCertificateExpires: ticket(
    'Certificate expires',
    'The certificate of the proxy expires within 14 days. Then clients refuse the connection.',
    'The renewal job of the proxy and its log.',
    'Renew the certificate and reload the proxy.',
  ),
} as const satisfies Readonly<Record<string, Alert>>

export type AlertName = keyof typeof ALERTS
