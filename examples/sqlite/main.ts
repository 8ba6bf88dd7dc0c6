import { runProgram } from 'latchkey'
import { sqliteBackend } from './src/backend.ts'

await runProgram({ version: '1.0.0', backend: sqliteBackend })
