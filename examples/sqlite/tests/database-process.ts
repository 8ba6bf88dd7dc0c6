import { runDatabaseProcess } from 'latchkey/testing'
import { sqliteDatabase } from '../src/service-database.ts'

runDatabaseProcess(sqliteDatabase)
