import { twoStoresContract, type NodeStores } from '@svc/testing'
import { createStore } from '@svc/store'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'

t.setTimeout(120_000)

const lease = { ttl: 4_000, beat: 100 }

await onPostgres(t, async (t, open) =>
  twoStoresContract(t, async () => {
    const first = await open({ lease })
    const { url, schema, query, close } = first
    const [node] = await query<{ node_id: string }>('select node_id from node')
    const second = await createStore({ url, schema, lease })
    return {
      first: first as unknown as NodeStores,
      second: second as NodeStores,
      async declareDead() {
        await query('delete from node where node_id = $1', [node!.node_id])
      },
      async close() {
        await second.close()
        await close()
      }
    }
  })
)
