import type { RunLog } from '@svc/registry'
import { codeOf, toLoggable } from '@svc/registry/kit'
import { HandleEmptyInListsPlugin, Kysely, PostgresDialect, replaceWithNoncontingentExpression } from 'kysely'
import type { Backend } from '../backend.ts'
import { PATIENCE } from '../commit.ts'
import { probe } from '../maintenance/probe.ts'
import { STO_ERR_OPEN } from '../errors.ts'
import type { PostgresOptions } from '../options.ts'
import type { Tables } from '../tables.ts'
import { createBytesInTable } from './bytes-in-table.ts'
import { isLost } from './faults.ts'
import { openNode } from './open-node.ts'
import { openPool } from './open-pool.ts'
import { Opening } from './opening.ts'
import { PatientPool } from './patient-pool.ts'
import { PooledCommit } from './pooled-commit.ts'
import { createTransact } from './query.ts'
import { createRunDays } from './run-days.ts'
import { createSweeping } from './sweeping.ts'

/**
 * Opens a database on Postgres. One that cannot be reached yet, after 5 seconds, is opened by the first call that can.
 * @throws STO_ERR_DRIVER_MISSING, and why a database that can be reached could not be opened
 */
export async function openPostgres(
  options: PostgresOptions,
  logger: Pick<RunLog, 'error'>
): Promise<Backend> {
  const connections = await openPool(options)
  const opening = new Opening(connections, options)
  const ready = () => opening.ready()
  const pool = new PatientPool(connections.pool, ready)
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })]
  }).withSchema(options.schema)
  const opened = openNode({
    options,
    connections,
    db,
    ready,
    logger
  })
  const { log, runs, checkpoints, sessionEntry, reports, control, dispatch, joined, close, ...node } = opened
  try {
    await pool.repeat(ready)
    await joined()
  } catch (err) {
    if (!isLost(err)) {
      await close()
      await pool.end()
      if (codeOf(err) !== undefined) throw err
      throw new STO_ERR_OPEN((err as Error).message, { cause: err })
    }
    logger.error(
      { code: codeOf(err), err: toLoggable(err) },
      'the database cannot be opened yet: calls are refused until it can'
    )
  }
  const commit = new PooledCommit(db, options.schema, options.outage, () => pool.failingFor)
  return {
    db,
    commit,
    bytes: createBytesInTable(db, commit),
    log,
    runs,
    checkpoints,
    sessionEntry,
    reports,
    control,
    dispatch,
    node,
    days: createRunDays(
      createTransact({ pool: connections.pool, ready, prepare: false }, PATIENCE),
      options.schema
    ),
    claimant: { id: joined, isShared: true },
    sweep: createSweeping(connections, options.schema),
    check: () => probe(commit),
    async close() {
      await commit.close()
      await close()
      await pool.end()
    }
  }
}
