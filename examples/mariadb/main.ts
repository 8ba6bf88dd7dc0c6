import { runProgram } from 'latchkey'
import { mariadbDatabase } from './src/service-database.ts'

const url = process.env.MARIADB_URL ?? 'mysql://latchkey@127.0.0.1:3306/latchkey'

await runProgram({ version: '1.0.0', database: mariadbDatabase(url) })
