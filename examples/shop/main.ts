import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { postgresDatabase, runProgram } from 'latchkey'
import { shopRoutes } from './src/routes.ts'
import { countStarts, recordStart } from './src/starts.ts'

await runProgram({
  title: 'Shop',
  description: 'Sells lamps.',
  version: '1.0.0',
  database: postgresDatabase({
    migrations: [
      { folder: fileURLToPath(new URL('sql', import.meta.url)), table: 'shop_migrations', owner: 'the shop' },
    ],
  }),
  onStart: ({ pool }) => recordStart(pool),
  routes: (_useCases, { pool }) =>
    shopRoutes({
      folder: tmpdir(),
      webhookSecret: process.env.SHOP_WEBHOOK_SECRET ?? 'only-for-a-trial',
      starts: (timeoutMs) => countStarts(pool, timeoutMs),
    }),
})
