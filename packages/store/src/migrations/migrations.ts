import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { createFirstTables } from './0001-first-tables.ts'
import { addSizesAndAges } from './0002-sizes-and-ages.ts'
import { addMemoryWords } from './0004-memory-words.ts'
import { addRegistryIds } from './0007-registry-ids.ts'
import { addLargeValues } from './0008-large-values.ts'

/** Every migration by its name, in order. Those of a few statements stand below. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first-tables': { up: createFirstTables },
  '0002-sizes-and-ages': { up: addSizesAndAges },
  '0003-start-keys': { up: addStartKeys },
  '0004-memory-words': { up: addMemoryWords },
  '0005-push-progress': { up: addPushProgress },
  '0006-list-indexes': { up: addListIndexes },
  '0007-registry-ids': { up: addRegistryIds },
  '0008-large-values': { up: addLargeValues },
  '0009-open-pushes': { up: addOpenPushes }
}

// A client's own key and a hash of its request: the same request starts one run.
async function addStartKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('run').addColumn('start_key', 'text').execute()
  await db.schema.alterTable('run').addColumn('start_hash', 'text').execute()
  // It repeated the id of the run.
  await db.schema.alterTable('run').dropColumn('idempotency_key').execute()
  await db.schema
    .createIndex('run_start')
    .on('run')
    .columns(['owner', 'start_key'])
    .unique()
    .where('start_key', 'is not', null)
    .execute()
}

// The last part sent to each receiver of push notifications, so that a restart resumes there; null where it is unknown.
async function addPushProgress(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('push_config').addColumn('pushed', 'bigint').execute()
}

// One index serves every filter of an owner's runs by their last change, since each index makes every write slower. The other
// finds the last task of a context.
async function addListIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('run_changed')
    .on('run')
    .columns(['owner', 'updated_at', 'run_id', 'status', 'session_id', 'kind', 'name'])
    .execute()
  await db.schema
    .createIndex('task_context')
    .on('task')
    .columns(['owner', 'context_id', 'created_at', 'task_id'])
    .execute()
}

// Finds the receivers with pending notifications after a restart.
async function addOpenPushes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('push_config_open')
    .on('push_config')
    .columns(['task_id', 'config_id'])
    .where(sql.ref('pushed'), 'is not', null)
    .execute()
}
