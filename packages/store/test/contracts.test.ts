import { join } from 'node:path'
import type { Stores } from '@svc/registry'
import {
  checkpointStoreContract,
  controlBusContract,
  memoryRetentionContract,
  memoryStoreContract,
  runStoreContract,
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
