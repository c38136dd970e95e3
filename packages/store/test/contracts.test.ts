import { join } from 'node:path'
import type { Stores } from '@svc/registry'
import {
  checkpointStoreContract,
  controlBusContract,
  fileStoreContract,
  memoryRetentionContract,
  memoryStoreContract,
  runStoreContract,
  sessionFenceContract,
  sessionStoreContract,
  taskStoreContract
} from '@svc/registry/testing'
import { createStore } from '@svc/store'
import t from 'tap'

let files = 0
const folder = t.testdir()
const open = () => createStore({ url: `sqlite:${join(folder, `${++files}.db`)}` })
const fresh =
  <S>(pick: (stores: Stores) => S) =>
  async () => {
    const store = await open()
    return { ...pick(store), close: store.close }
  }

t.test('runs and their logs', async (t) => runStoreContract(t, open))
t.test('sessions', async (t) =>
  sessionStoreContract(
    t,
    fresh(({ sessions }) => sessions)
  )
)
t.test('sessions of runs', async (t) => sessionFenceContract(t, open))
t.test('memory', async (t) =>
  memoryStoreContract(
    t,
    fresh(({ memory }) => memory)
  )
)
t.test('what is kept of memory', async (t) =>
  memoryRetentionContract(t, async (retention) => {
    const { memory, close } = await createStore({ url: 'sqlite::memory:', retention })
    return { ...memory, close }
  })
)
t.test('tasks', async (t) =>
  taskStoreContract(
    t,
    fresh(({ tasks }) => tasks)
  )
)
t.test('checkpoints', async (t) =>
  checkpointStoreContract(
    t,
    fresh(({ checkpoints }) => checkpoints)
  )
)
t.test('control', async (t) =>
  controlBusContract(
    t,
    fresh(({ control }) => control)
  )
)

for (const url of [undefined, 'sqlite::memory:'])
  t.test(url === undefined ? 'files' : 'files in memory', async (t) => {
    const make = (limits?: { maxRunBytes: number }) => async () => {
      const where = url ?? `sqlite:${join(folder, `${++files}.db`)}`
      const store = await createStore({ url: where, ...(limits && { files: limits }) })
      return { ...store.files, close: store.close }
    }
    fileStoreContract(t, make(), (maxRunBytes) => make({ maxRunBytes }))
  })
