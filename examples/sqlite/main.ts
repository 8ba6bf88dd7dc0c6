import { runProgram } from 'latchkey'
import { sqliteDatabase } from './src/service-database.ts'

await runProgram({ version: '1.0.0', database: sqliteDatabase })
