import { createStore, type Store, type StoreOptions } from '@svc/store'
import { Client } from 'pg'
import type { Test } from 'tap'
import { randomSchema } from './each-store.ts'

/** The stores of nodes that share a schema. */
export interface Nodes {
  readonly schema: string
  /** A connection of no node. */
  readonly admin: Client
  open(options?: StoreOptions): Promise<Store>
}

/** A new schema for the nodes of a test, which removes it and closes them. */
export async function createNodes(t: Pick<Test, 'teardown'>, url: string): Promise<Nodes> {
  const schema = randomSchema()
  const admin = new Client(url)
  await admin.connect()
  const stores: Store[] = []
  t.teardown(async () => {
    for (const store of stores) await store.close()
    await admin.query(`drop schema if exists ${schema} cascade`)
    await admin.end()
  })
  return {
    schema,
    admin,
    async open(options) {
      const store = await createStore({ url, schema, ...options })
      stores.push(store)
      return store
    }
  }
}
