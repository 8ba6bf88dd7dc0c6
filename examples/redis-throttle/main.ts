import { postgresDatabase, runProgram } from 'latchkey'
import { withRedisThrottle } from './src/database.ts'

const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'

await runProgram({ version: '1.0.0', database: withRedisThrottle(postgresDatabase(), url) })
