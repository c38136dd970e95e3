import type { Migration } from 'kysely/migration'
import { createFirstTables } from './0001-first-tables.ts'
import { addFiles } from './0002-files.ts'

/** Every migration by its name, in order: one a file. A released one never changes. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first-tables': { up: createFirstTables },
  '0002-files': { up: addFiles }
}
