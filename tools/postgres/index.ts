export { freePort, startPostgres, type Postgres, type PostgresOptions } from './start-postgres.ts'
export { postgresForTests } from './for-tests.ts'
export { startProxy, type Proxy } from './proxy.ts'
