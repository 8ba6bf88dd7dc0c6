import { runDatabaseProcess } from 'latchkey/testing'
import { mariadbDatabase } from '../src/service-database.ts'

runDatabaseProcess(mariadbDatabase(process.env.MARIADB_URL ?? ''))
