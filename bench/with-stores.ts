import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Stores } from '@svc/registry'
import { createStore } from '@svc/store'
import { startPostgres } from '@tools/postgres'

/** Calls a function with stores in memory, which are undefined, then on SQLite, then on Postgres. */
export async function withStores(
  measure: (name: string, stores: Stores | undefined) => Promise<void>
): Promise<void> {
  await measure('memory', undefined)
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const server = await startPostgres()
  try {
    for (const [name, url] of [
      ['sqlite', `sqlite:${join(folder, 'bench.db')}`],
      ['postgres', server.url]
    ] as const) {
      const store = await createStore({ url })
      await measure(name, store)
      await store.close()
    }
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
