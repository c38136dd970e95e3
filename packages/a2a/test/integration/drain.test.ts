import { createInProcessStores } from '@svc/registry'
import t from 'tap'
import { asker, createLasting, createWaiting } from '../helpers/agents.ts'
import { anyone, buildApp, eventsOf, say, sayV1, type RpcReply } from '../helpers/build-app.ts'

// The default of `Fastify()`.
const fastify = { forceCloseConnections: 'idle' } as const

const post = (url: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 7, method, params })

t.test('while draining, tasks are read, watched, canceled and answered; new ones are refused', async (t) => {
  const watched = createWaiting('watched')
  const canceled = createWaiting('canceled')
  const { app, url, rpc } = await buildApp(t, {
    runnables: [watched.runnable, canceled.runnable, asker],
    fastify,
    engine: { drainTimeout: 60_000 }
  })
  const begin = async (text: string): Promise<string> => {
    const configuration = { returnImmediately: true }
    return (await rpc('SendMessage', { ...sayV1(text), configuration })).result.task.id
  }
  const [first, second, asked] = [await begin('watched'), await begin('canceled'), await begin('asker')]
  await Promise.all([watched.reached(), canceled.reached()])
  const closed = app.close()
  while (!app.runs.draining) await new Promise(setImmediate)

  const refused: [url: string, body: object, error: object][] = [
    [url, call('message/send', say('watched')), { id: 7, error: { code: -32000 } }],
    [url, call('message/stream', say('watched')), { id: 7, error: { code: -32000 } }],
    [url, call('SendMessage', sayV1('watched')), { id: 7, error: { code: -32000 } }],
    [`${url}/message:send`, sayV1('watched'), { error: { code: 503 } }]
  ]
  for (const [to, body, error] of refused) {
    const response = await post(to, body)
    t.equal(response.status, 503)
    t.match(response.headers.get('retry-after'), /^\d+$/)
    const text = await response.text()
    t.match(JSON.parse(text), error)
    t.match(text, 'RUN_ERR_DRAINING')
  }
  t.match((await rpc('ListTasks', {})).result.tasks, { length: 3 })
  t.match(await rpc('tasks/get', { id: first }), { result: { status: { state: 'working' } } })
  t.match(await rpc('tasks/cancel', { id: second }), { result: { status: { state: 'canceled' } } })
  t.match(await rpc('message/send', say('approve', { taskId: asked })), {
    result: { status: { state: 'completed' } }
  })
  const following = await post(url, call('tasks/resubscribe', { id: first }))
  const followingV1 = await post(url, call('SubscribeToTask', { id: first }))
  watched.goOn()
  t.match(eventsOf(await following.text()).at(-1), {
    result: { final: true, status: { state: 'completed' } }
  })
  t.match(eventsOf(await followingV1.text()).at(-1), {
    result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } }
  })
  await closed
})

t.test(
  'a client that waits for a task that outlives the service gets `working`, and its stream no end',
  async (t) => {
    const stores = createInProcessStores()
    const lasting = createLasting()
    const options = { authenticate: anyone }
    const request = { runnables: [lasting.runnable], fastify, options, engine: { stores, drainTimeout: 50 } }
    const first = await buildApp(t, request)
    const sent = [
      first.rpc('message/send', say('x', { messageId: 'm' })),
      first.rpc('SendMessage', sayV1('x'))
    ] as const
    const streamed = await post(first.url, call('message/stream', say('x')))
    while (first.runs.active < 3) await new Promise(setImmediate)
    const { runs } = await first.runs.list({ limit: 9 })
    const watched = await post(first.url, call('SubscribeToTask', { id: runs[0]!.runId }))
    await first.app.close()

    const [old, current] = await Promise.all(sent)
    t.match(old.result, {
      id: /./,
      status: { state: 'working' },
      artifacts: [{ parts: [{ text: 'half, ' }] }]
    })
    t.match(current.result.task, { id: /./, status: { state: 'TASK_STATE_WORKING' } })
    for (const response of [streamed, watched]) {
      const text = await response.text()
      t.match(text, /\n\n: suspended[^\n]*\n\n$/)
      const events = eventsOf(text) as RpcReply[]
      t.notMatch(JSON.stringify(events), /"final":true|COMPLETED|FAILED|CANCELED|"failed"/)
      t.match(JSON.stringify(events.at(-1)), 'half, ')
    }

    lasting.letGo()
    const second = await buildApp(t, request)
    // The same message is the same task, which continues.
    const again = await second.rpc('message/send', say('x', { messageId: 'm' }))
    t.match(again.result, { id: old.result.id, status: { state: 'completed' } })
    for (const { runId } of runs) {
      await second.stream('tasks/resubscribe', { id: runId })
      t.match(await second.rpc('tasks/get', { id: runId }), { result: { status: { state: 'completed' } } })
    }
  }
)
