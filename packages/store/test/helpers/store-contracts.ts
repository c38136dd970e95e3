import type { Stores } from '@svc/registry'
import {
  checkpointStoreContract,
  controlBusContract,
  erasureContract,
  fileStoreContract,
  memoryRetentionContract,
  memoryStoreContract,
  remoteSessionStoreContract,
  runQueueContract,
  scheduleStoreContract,
  runStoreContract,
  keptTurnContract,
  runFenceContract,
  sessionForkContract,
  sessionIndexContract,
  sessionStoreContract,
  sessionTreeContract,
  taskStoreContract,
  webhookStoreContract
} from '@svc/testing'
import type { Test } from 'tap'
import type { OpenStore } from './each-store.ts'

/** All contract suites of the stores. */
export function storeContracts(t: Test, open: OpenStore): void {
  const fresh =
    <S>(pick: (stores: Stores) => S) =>
    async () => {
      const store = await open()
      return { ...pick(store), close: store.close }
    }

  t.test('runs and their logs', async (t) => runStoreContract(t, open))
  t.test('queued runs', async (t) => runQueueContract(t, open))
  t.test('schedules', async (t) => scheduleStoreContract(t, open))
  t.test('webhooks', async (t) => webhookStoreContract(t, open))
  t.test('sessions', async (t) =>
    sessionStoreContract(
      t,
      fresh(({ sessions }) => sessions)
    )
  )
  t.test('the list of sessions', async (t) => sessionIndexContract(t, () => open()))
  t.test('the tree of turns', async (t) => sessionTreeContract(t, () => open()))
  t.test('forks', async (t) => sessionForkContract(t, () => open()))
  t.test('turns of suspended runs', async (t) => keptTurnContract(t, () => open()))
  t.test('what runs write', async (t) => runFenceContract(t, () => open({ stateKey: 'ab'.repeat(32) })))
  t.test('what belongs to a session or a person', async (t) =>
    erasureContract(t, () => open({ stateKey: 'ab'.repeat(32) }))
  )
  t.test('memory', async (t) =>
    memoryStoreContract(
      t,
      fresh(({ memory }) => memory)
    )
  )
  t.test('what is kept of memory', async (t) =>
    memoryRetentionContract(t, async (retention) => {
      const { memory, close } = await open({ retention })
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
  t.test('sessions at other services', async (t) =>
    remoteSessionStoreContract(
      t,
      fresh(({ remoteSessions }) => remoteSessions!)
    )
  )
  t.test('control', async (t) =>
    controlBusContract(
      t,
      fresh(({ control }) => control)
    )
  )
  t.test('files', async (t) => {
    const make = (limits?: { maxRunBytes: number }) => async () => {
      const store = await open(limits && { files: limits })
      return { ...store.files, close: store.close }
    }
    fileStoreContract(t, make(), (maxRunBytes) => make({ maxRunBytes }))
  })
}
