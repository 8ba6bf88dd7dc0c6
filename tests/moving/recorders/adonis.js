/**
 * Makes a database of AdonisJS with the access tokens of @adonisjs/auth, and prints the rows of the export and the header of each
 * client: npm install @adonisjs/auth@9.6.0 @adonisjs/core@6 @adonisjs/lucid@21 pg; node adonis.js <PostgreSQL URL>
 */
import { DbAccessTokensProvider } from '@adonisjs/auth/access_tokens'
import { AppFactory } from '@adonisjs/core/factories/app'
import { EmitterFactory } from '@adonisjs/core/factories/events'
import { LoggerFactory } from '@adonisjs/core/factories/logger'
import { Database } from '@adonisjs/lucid/database'
import { Adapter, BaseModel } from '@adonisjs/lucid/orm'

const app = new AppFactory().create(new URL('./', import.meta.url))
const connection = { client: 'pg', connection: { connectionString: process.argv[2] } }
const database = new Database(
  { connection: 'pg', connections: { pg: connection } },
  new LoggerFactory().create(),
  new EmitterFactory().create(app),
)
BaseModel.$adapter = new Adapter(database)

// Each access returns a new builder.
await database.connection().schema.createTable('users', (table) => {
  table.increments('id')
  table.string('email', 254).notNullable().unique()
  table.string('password').notNullable()
})
// The migration that `node ace configure @adonisjs/auth` writes.
await database.connection().schema.createTable('auth_access_tokens', (table) => {
  table.increments('id')
  table.integer('tokenable_id').notNullable().unsigned().references('id').inTable('users').onDelete('CASCADE')
  table.string('type').notNullable()
  table.string('name').nullable()
  table.string('hash').notNullable()
  table.text('abilities').notNullable()
  table.timestamp('created_at')
  table.timestamp('updated_at')
  table.timestamp('last_used_at').nullable()
  table.timestamp('expires_at').nullable()
})

class User extends BaseModel {
  static accessTokens = DbAccessTokensProvider.forModel(User)
}
User.boot()
User.$addColumn('id', { isPrimary: true })
User.$addColumn('email', {})
User.$addColumn('password', {})

const authorizations = []
for (let n = 1; n <= 3; n++) {
  const user = await User.create({ email: `peer${n}@example.com`, password: 'x' })
  const expiresIn = '36500 days'
  const token = await User.accessTokens.create(user, ['orders:read'], { name: `phone ${n}`, expiresIn })
  if ((await User.accessTokens.verify(token.value)) === null) throw new Error('refused by its peer')
  authorizations.push(`Bearer ${token.value.release()}`)
}
const { rows } = await database.rawQuery(`
  select t.id, t.type, t.name, t.hash, t.abilities, t.created_at, t.last_used_at, t.expires_at, u.email
    from auth_access_tokens t join users u on u.id = t.tokenable_id order by t.id`)
await database.manager.closeAll()
const system = '@adonisjs/auth 9.6.0, @adonisjs/lucid 21'
process.stdout.write(
  `${JSON.stringify({ system, from: 'adonis', options: [], rows, authorizations }, null, 2)}\n`,
)
