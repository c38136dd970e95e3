import { join } from 'node:path'
import { fileStoreContract } from '@svc/testing'
import { createStore } from '@svc/store'
import t from 'tap'
import { storeContracts } from './helpers/store-contracts.ts'

// Each test has a database of its own.
t.setTimeout(120_000)
let files = 0
const folder = t.testdir()
storeContracts(t, (options) => createStore({ url: `sqlite:${join(folder, `${++files}.db`)}`, ...options }))

t.test('files in memory', async (t) => {
  const make = (limits?: { maxRunBytes: number }) => async () => {
    const store = await createStore({ url: 'sqlite::memory:', ...(limits && { files: limits }) })
    return { ...store.files, close: store.close }
  }
  fileStoreContract(t, make(), (maxRunBytes) => make({ maxRunBytes }))
})
