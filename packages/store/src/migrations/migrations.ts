import type { Migration } from 'kysely/migration'
import { createFirstTables } from './0001-first-tables.ts'
import { addSizesAndAges } from './0002-sizes-and-ages.ts'
import { addStartKeys } from './0003-start-keys.ts'
import { addMemoryWords } from './0004-memory-words.ts'
import { addToldReceivers } from './0005-told-receivers.ts'
import { addListIndexes } from './0006-list-indexes.ts'
import { addRegistryIds } from './0007-registry-ids.ts'
import { addLargeValues } from './0008-large-values.ts'
import { addOpenPushes } from './0009-open-pushes.ts'

/** Every migration by its name, in the order of the names. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first-tables': { up: createFirstTables },
  '0002-sizes-and-ages': { up: addSizesAndAges },
  '0003-start-keys': { up: addStartKeys },
  '0004-memory-words': { up: addMemoryWords },
  '0005-told-receivers': { up: addToldReceivers },
  '0006-list-indexes': { up: addListIndexes },
  '0007-registry-ids': { up: addRegistryIds },
  '0008-large-values': { up: addLargeValues },
  '0009-open-pushes': { up: addOpenPushes }
}
