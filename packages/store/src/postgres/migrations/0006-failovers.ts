import { sql, type Kysely } from 'kysely'

/**
 * What failovers need: the advisory lock that the channel of a node holds, null for nodes of releases that hold none; the servers that the
 * tables had, by the latest of which a node notices another one; and the runs whose logs may have lost parts that readers have. Beside
 * them the format of runs, null for 1, and the newest one that a node knows, null for releases that have none.
 */
export async function addFailovers(db: Kysely<unknown>, schema: string): Promise<void> {
  const { schema: tables } = db.withSchema(schema)
  await tables.alterTable('node').addColumn('lock_key', 'bigint').addColumn('format', 'integer').execute()
  await tables.alterTable('run').addColumn('restored', 'boolean').addColumn('format', 'integer').execute()
  await sql
    .raw(
      `create table "${schema}".failover (place integer generated always as identity primary key, server text not null,
        least_ordinal integer not null, lost boolean not null, at timestamptz not null default clock_timestamp())`
    )
    .execute(db)
}
