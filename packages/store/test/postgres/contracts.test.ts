import { counterStoreContract } from '@svc/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { storeContracts } from '../helpers/store-contracts.ts'

t.setTimeout(240_000)
await onPostgres(t, async (t, open) => {
  storeContracts(t, open)
  t.test('counters', async (t) =>
    counterStoreContract(t, async () => {
      const { counters, close } = await open()
      return { increment: (key, window) => counters!.increment(key, window), close }
    })
  )
})
