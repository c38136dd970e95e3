import type { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { STO_ERR_OPEN } from '../errors.ts'
import { createFirstTables } from './0001-first-tables.ts'
import { addSizesAndAges } from './0002-sizes-and-ages.ts'
import { addStartKeys } from './0003-start-keys.ts'
import { addMemoryWords } from './0004-memory-words.ts'
import { addToldReceivers } from './0005-told-receivers.ts'
import { addListIndexes } from './0006-list-indexes.ts'
import { addLargeValues } from './0008-large-values.ts'

/** Brings a database up to date; one that is stays as it is. @throws STO_ERR_OPEN */
export async function migrate(db: Kysely<never>): Promise<void> {
  const migrations = {
    '0001-first-tables': { up: createFirstTables },
    '0002-sizes-and-ages': { up: addSizesAndAges },
    '0003-start-keys': { up: addStartKeys },
    '0004-memory-words': { up: addMemoryWords },
    '0005-told-receivers': { up: addToldReceivers },
    '0006-list-indexes': { up: addListIndexes },
    '0008-large-values': { up: addLargeValues }
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw new STO_ERR_OPEN((error as Error).message, { cause: error })
}
