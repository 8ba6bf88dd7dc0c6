export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  openEmbeddedPostgres,
} from '../../adapters/embedded-postgres/open-embedded-postgres.ts'
