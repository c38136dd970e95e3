import type { DatabaseSync } from 'node:sqlite'
import { createPause } from '@svc/contract'
import { CODE_BYTES, CodeTable } from '@svc/contract/stores'
import type { Kysely } from 'kysely'
import type { CodeChange, ItemCodes } from '../backend.ts'
import { escapeNul } from '../encoding/values.ts'
import type { Tables } from '../tables.ts'

// Codes per statement: each is read in one turn of the event loop.
const PAGE = 1_024
// Milliseconds of one turn of the event loop.
const SLICE = 2
const PAGE_OF_CODES = `
  select item_id, code from memory_item where space_id = ? and model = ? and item_id > ? and code is not null order by item_id limit ${PAGE}`

interface Loading {
  readonly table: CodeTable<number>
  readonly loaded: Promise<void>
}

/**
 * The codes of memories in a database that only this process has open: those of a space and a model are read at their first search, and
 * then kept in step with what the store writes.
 */
export class CodeCache implements ItemCodes {
  readonly #db: Kysely<Tables>
  readonly #page: ReturnType<DatabaseSync['prepare']>
  readonly #maxBytes: number
  // By space, then by model; the space searched last comes last.
  readonly #spaces = new Map<number, Map<string, Loading>>()

  /** @param maxBytes of the codes in memory; the space searched last stays, whatever its size */
  constructor(db: Kysely<Tables>, database: DatabaseSync, maxBytes: number) {
    this.#db = db
    this.#page = database.prepare(PAGE_OF_CODES)
    this.#maxBytes = maxBytes
  }

  toColumn(code: Uint8Array): Uint8Array {
    return code
  }

  async nearest(spaceId: number, model: string, code: Uint8Array, count: number): Promise<readonly number[]> {
    const models = this.#spaces.get(spaceId) ?? new Map<string, Loading>()
    this.#spaces.delete(spaceId)
    this.#spaces.set(spaceId, models)
    const { table, loaded } = models.get(model) ?? this.#open(models, spaceId, model)
    await loaded
    this.#limit()
    return await table.nearest(code, count)
  }

  changed({ removed, added = [] }: CodeChange): void {
    for (const { space_id, item_id } of removed)
      for (const { table } of this.#spaces.get(space_id)?.values() ?? []) table.delete(item_id)
    for (const { space_id, model, item_id, code } of added)
      this.#spaces.get(space_id)?.get(model)?.table.set(item_id, code)
  }

  #open(models: Map<string, Loading>, spaceId: number, model: string): Loading {
    const table = new CodeTable<number>()
    const loading = { table, loaded: this.#load(table, spaceId, model) }
    models.set(model, loading)
    // The next search tries again.
    loading.loaded.catch(() => models.delete(model))
    return loading
  }

  // A page is read and added at once, while no transaction is open: what is committed later is added or removed later.
  async #load(table: CodeTable<number>, spaceId: number, model: string): Promise<void> {
    const pause = createPause(SLICE)
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: number = after
      after = await this.#db
        .connection()
        .execute(async () => this.#loadPage(table, [spaceId, escapeNul(model), from]))
      await pause()
    }
  }

  #loadPage(
    table: CodeTable<number>,
    parameters: [spaceId: number, model: string, after: number]
  ): number | undefined {
    const rows = this.#page.all(...parameters) as { item_id: number; code: Uint8Array }[]
    for (const { item_id, code } of rows) if (code.length === CODE_BYTES) table.set(item_id, code)
    return rows.length < PAGE ? undefined : rows.at(-1)!.item_id
  }

  #limit(): void {
    let bytes = 0
    for (const models of this.#spaces.values()) for (const { table } of models.values()) bytes += table.bytes
    for (const [spaceId, models] of this.#spaces) {
      if (bytes <= this.#maxBytes || this.#spaces.size === 1) return
      for (const { table } of models.values()) bytes -= table.bytes
      this.#spaces.delete(spaceId)
    }
  }
}
