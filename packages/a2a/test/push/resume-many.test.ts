import { join } from 'node:path'
import { createInProcessStores, type PushConfig, type StoredRun, type Stores } from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import { storedRun } from '@svc/testing'
import store, { createStore } from '@svc/store'
import t, { type Test } from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, say, type AppRequest } from '../helpers/build-app.ts'
import { createReceiver, type Received } from '../helpers/receiver.ts'

t.setTimeout(120_000)

const EACH = 3
const pushNotifications = { allowPrivate: true, backoff: 5, attempts: 1_000, timeout: 60_000 }

const message = { messageId: 'm', role: 'user', parts: [{ text: 'x' }] }
const part = (seq: number, type: string, more: object) =>
  entryFromJson(seq, JSON.stringify({ seq, at: seq, type, ...more }))

/**
 * Stores the state that a restart finds: many tasks, each with several receivers. Half of them have ended, with a last event
 * that no receiver got; the restart ends the others.
 */
async function leave(stores: Stores, url: string, tasks: number): Promise<string[]> {
  const paths: string[] = []
  const one = async (index: number) => {
    const run: StoredRun = storedRun({ name: 'waiting', owner: 'anonymous', status: 'working' })
    const { runId, sessionId: contextId, registry, owner, name: agentName } = run
    await stores.runs.create(run)
    const start = part(1, 'start', { runId, sessionId: contextId, kind: 'agent', name: agentName })
    await stores.log.append(runId, 1, [start, part(2, 'text', { text: 'half' })])
    await stores.tasks.create(
      { taskId: runId, contextId, registry, owner, agentName, createdAt: 1, messages: [message] },
      `m${index}`
    )
    for (let id = 0; id < EACH; id++) {
      const path = `/${index}/${id}`
      const config: PushConfig = {
        id: `c${id}`,
        url: url + path,
        version: id === 0 ? '0.3' : '1.0',
        endpoint: '/a2a'
      }
      paths.push(path)
      await stores.tasks.setPushConfig(runId, config, 2)
    }
    if (index % 2 === 0)
      await stores.log.append(
        runId,
        1,
        [part(3, 'finish', { finishReason: 'other', usage: {}, durationMs: 1 })],
        { status: 'completed', at: Date.now() }
      )
  }
  for (let index = 0; index < tasks; index += 50)
    await Promise.all(Array.from({ length: 50 }, (_, more) => one(index + more)))
  await stores.tasks.releasePushes('/a2a')
  return paths
}

interface Kind {
  tasks: number
  make(t: Test): Promise<{ stores: Stores; done(): Promise<void>; request: Partial<AppRequest> }>
}

const kinds: Record<string, Kind> = {
  memory: {
    tasks: 700,
    async make() {
      const stores = createInProcessStores()
      return { stores, done: async () => {}, request: { engine: { stores } } }
    }
  },
  SQLite: {
    tasks: 400,
    async make(t) {
      const url = `sqlite:${join(t.testdir(), 'app.db')}`
      const stores = await createStore({ url })
      return { stores, done: stores.close, request: { before: async (app) => app.register(store, { url }) } }
    }
  }
}

for (const [kind, { tasks: count, make }] of Object.entries(kinds))
  t.test(`${count * EACH} receivers are resumed a few at a time, in ${kind}`, async (t) => {
    const { stores, done, request } = await make(t)
    let open = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    const receiver = await createReceiver(t, async () => {
      most = Math.max(most, ++open)
      await gate.promise
      open--
      return 204
    })
    const paths = await leave(stores, receiver.url, count)
    await done()

    const sizes: number[] = []
    const waiting = createWaiting()
    const { rpc, app } = await buildApp(t, {
      runnables: [waiting.runnable],
      ...request,
      options: { pushNotifications },
      async before(app) {
        await request.before?.(app)
        app.addHook('onReady', async () => {
          const { tasks } = app.runs.stores
          const { claimPushes } = tasks
          tasks.claimPushes = async (claim) => {
            const claimed = await claimPushes.call(tasks, claim)
            sizes.push(claimed.length)
            return claimed
          }
        })
      }
    })
    await receiver.until(500)
    for (let time = 0; time < 10; time++)
      t.match(await rpc('message/send', { ...say('x'), configuration: { blocking: false } }), {
        result: { status: { state: 'working' } }
      })
    t.ok(most <= 512, `${most} receivers at once`)
    t.ok(Math.max(...sizes) <= 50 * EACH, 'it claims some at a time')
    t.ok(sizes.length <= 4, `none before there is room for it: ${sizes.length} claims`)
    gate.resolve()
    await receiver.until(paths.length)
    while ((await app.runs.stores.tasks.countOpenPushes('anonymous')) > 0)
      await new Promise((resolve) => setTimeout(resolve, 10))
    t.same(receiver.all.map(({ path }) => path).toSorted(), paths.toSorted(), 'each is told once')
    t.same(statesOf(receiver.all), { failed: paths.length / 2, completed: paths.length / 2 })
    t.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      paths.length
    )
  })

function statesOf(all: readonly Received[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { body } of all) {
    const state = (body.statusUpdate?.status.state ?? body.status.state)
      .toLowerCase()
      .replace('task_state_', '') as string
    counts[state] = (counts[state] ?? 0) + 1
  }
  return counts
}
