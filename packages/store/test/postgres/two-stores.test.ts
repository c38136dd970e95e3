import { twoStoresContract, type NodeStores } from '@svc/registry/testing'
import { createStore } from '@svc/store'
import { Client } from 'pg'
import t from 'tap'
import { onPostgres, randomSchema } from '../helpers/each-store.ts'

const lease = { ttl: 1_000, beat: 100 }

await onPostgres(t, async (t, _open, url) =>
  twoStoresContract(t, async () => {
    const schema = randomSchema()
    const open = () => createStore({ url, schema, lease })
    const admin = new Client(url)
    await admin.connect()
    const first = await open()
    const { rows } = await admin.query<{ node_id: string }>(`select node_id from ${schema}.node`)
    const second = await open()
    return {
      first: first as NodeStores,
      second: second as NodeStores,
      async declareDead() {
        await admin.query(`delete from ${schema}.node where node_id = $1`, [rows[0]!.node_id])
      },
      async close() {
        await first.close()
        await second.close()
        await admin.query(`drop schema ${schema} cascade`)
        await admin.end()
      }
    }
  })
)
