import type { RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import { createQuestioner } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type TestApp } from '../helpers/build-app.ts'
import { ask, BINDINGS, type BindingName } from '../helpers/conformance-client.ts'

interface Listed {
  id: string
  status: { state: string; timestamp: string }
  artifacts?: object[]
}

/** An agent that makes nothing. */
const silent: RunnableDefinition = { kind: 'agent', name: 'silent', async *stream() {} }

async function serve(t: Test, binding: BindingName) {
  const app = await buildApp(t, { runnables: [echo, silent, createQuestioner(undefined)] })
  const send = async (agentName: string, fields: object = {}) =>
    (await ask(app, binding, 'send', sayV1('x', { metadata: { agentName }, contextId: 'c', ...fields })))
      .result.task as Listed
  return { app, send }
}

async function list(app: TestApp, binding: BindingName, params: object = {}) {
  const { result } = await ask(app, binding, 'list', params)
  return result as { tasks: Listed[]; nextPageToken: string; pageSize: number; totalSize: number }
}

t.test('a list has its page size, the total and the next token, which is empty at the end', async (t) => {
  for (const binding of BINDINGS) {
    const { app, send } = await serve(t, binding)
    t.same(await list(app, binding), { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await send('echo')).id)
    const seen: string[] = []
    let pageToken = ''
    for (const size of [2, 2, 1]) {
      const page = await list(app, binding, { pageSize: 2, ...(pageToken && { pageToken }) })
      t.match(page, { pageSize: 2, totalSize: 5, tasks: { length: size } })
      seen.push(...page.tasks.map(({ id }) => id))
      pageToken = page.nextPageToken
    }
    t.equal(pageToken, '', 'the last page')
    t.same(seen.toSorted(), ids.toSorted(), 'every task once')
    t.match(await list(app, binding, { pageSize: 5 }), { nextPageToken: '', tasks: { length: 5 } })
    for (const pageSize of [0, -1, 101, 1.5])
      t.match((await ask(app, binding, 'list', { pageSize })).error, { fields: ['pageSize'] })
    t.match((await ask(app, binding, 'list', { pageToken: 'x' })).error, { fields: ['pageToken'] })
  }
})

t.test('artifacts are left out of a list unless it asks for them', async (t) => {
  for (const binding of BINDINGS) {
    const { app, send } = await serve(t, binding)
    const { id } = await send('echo')
    const { id: none } = await send('silent')
    for (const params of [{}, { includeArtifacts: false }])
      for (const task of (await list(app, binding, params)).tasks) t.notOk('artifacts' in task)
    const { tasks } = await list(app, binding, { includeArtifacts: true })
    t.match(tasks.find((task) => task.id === id)?.artifacts, [{ parts: [{ text: 'x' }] }])
    t.same(tasks.find((task) => task.id === none)?.artifacts, [], 'a task without any')
    t.match((await ask(app, binding, 'list', { includeArtifacts: 'yes' })).error, {
      fields: ['includeArtifacts']
    })
  }
})

/** Until what happens next has a later timestamp. */
async function nextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() === now;) await new Promise((resolve) => setTimeout(resolve, 1))
}

t.test('the task whose status changed last is first', async (t) => {
  for (const binding of BINDINGS) {
    const { app, send } = await serve(t, binding)
    const first = await send('questioner')
    for (let count = 0; count < 3; count++) await send('echo')
    await nextMillisecond()
    const second = await send('questioner')
    const check = async (id: string) => {
      const { tasks } = await list(app, binding)
      t.equal(tasks[0]!.id, id)
      const times = tasks.map(({ status }) => status.timestamp)
      t.same(times, times.toSorted().toReversed(), 'by the times of their statuses')
    }
    await check(second.id)
    await nextMillisecond()
    await send('questioner', { taskId: first.id })
    await check(first.id)
  }
})

t.test('lists are filtered by context, state and the time of the status', async (t) => {
  for (const binding of BINDINGS) {
    const { app, send } = await serve(t, binding)
    const waits = await send('questioner', { contextId: 'a' })
    await send('echo', { contextId: 'a' })
    const done = await send('echo', { contextId: 'b' })
    const idsOf = async (params: object) => (await list(app, binding, params)).tasks.map(({ id }) => id)
    t.same(await idsOf({ contextId: 'b' }), [done.id])
    t.same(await idsOf({ contextId: 'nothing' }), [])
    t.same(await idsOf({ status: 'TASK_STATE_INPUT_REQUIRED' }), [waits.id])
    t.match(await list(app, binding, { contextId: 'a', status: 'TASK_STATE_COMPLETED' }), { totalSize: 1 })
    t.match(await list(app, binding, { status: 'TASK_STATE_UNSPECIFIED' }), { totalSize: 3 })
    t.match(await list(app, binding, { contextId: '', pageToken: '' }), { totalSize: 3 }, 'unset')
    for (const status of ['completed', 'TASK_STATE_DONE'])
      t.match((await ask(app, binding, 'list', { status })).error, { fields: ['status'] })
    for (const status of ['TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED', 'TASK_STATE_WORKING'])
      t.match(await list(app, binding, { status }), { tasks: [], totalSize: 0 })

    const { timestamp } = done.status
    t.ok((await idsOf({ statusTimestampAfter: timestamp })).includes(done.id), 'that time included')
    for (const digits of ['', '0', '000', '000000'])
      t.ok((await idsOf({ statusTimestampAfter: timestamp.replace('Z', `${digits}Z`) })).includes(done.id))
    const later = [new Date(Date.parse(timestamp) + 1).toISOString(), timestamp.replace('Z', '001Z')]
    for (const statusTimestampAfter of later)
      t.notOk((await idsOf({ statusTimestampAfter })).includes(done.id), statusTimestampAfter)
    const east = timestamp.replace('Z', '+00:00')
    t.ok((await idsOf({ statusTimestampAfter: east })).includes(done.id))
    for (const statusTimestampAfter of [
      'yesterday',
      '2026-02-30T00:00:00Z',
      '2025-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-01-01',
      ''
    ])
      t.match(
        (await ask(app, binding, 'list', { statusTimestampAfter })).error,
        {
          fields: ['statusTimestampAfter']
        },
        statusTimestampAfter
      )
  }
})
