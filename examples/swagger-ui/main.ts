import { runProgram } from 'latchkey'
import { swaggerUi } from './docs.ts'

await runProgram({ title: 'Shop', version: '1.0.0', docs: swaggerUi })
