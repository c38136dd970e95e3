import { createMemoryStores, type Stores } from '@svc/registry'
import {
  checkpointStoreContract,
  controlBusContract,
  memoryStoreContract,
  runStoreContract,
  sessionStoreContract,
  taskStoreContract
} from '@svc/registry/testing'
import t from 'tap'

const fresh =
  <K extends keyof Stores>(port: K) =>
  async () =>
    createMemoryStores()[port]

t.test('runs and their logs', async (t) => runStoreContract(t, async () => createMemoryStores()))
t.test('sessions', async (t) => sessionStoreContract(t, fresh('sessions')))
t.test('memory', async (t) => memoryStoreContract(t, fresh('memory')))
t.test('tasks', async (t) => taskStoreContract(t, fresh('tasks')))
t.test('checkpoints', async (t) => checkpointStoreContract(t, fresh('checkpoints')))
t.test('control', async (t) => controlBusContract(t, fresh('control')))
