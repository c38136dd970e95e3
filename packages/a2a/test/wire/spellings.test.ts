import { deepStrictEqual } from 'node:assert/strict'
import { Role, TaskState } from '@a2a-js/sdk'
import * as fc from 'fast-check'
import t from 'tap'
import { fromProtoJson } from '../../src/wire/proto-json.ts'
import { buildApp, sayV1 } from '../helpers/build-app.ts'

// https://protobuf.dev/programming-guides/json/: spellings that a parser accepts and the published schema of 1.0 allows.

interface Listed {
  tasks: { id: string; status: { state: string }; history?: object[] }[]
  pageSize: number
}

t.test('integers may be strings, and enums numbers, on both bindings of 1.0', async (t) => {
  const app = await buildApp(t)
  const post = async (path: string, body: object) => {
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return response.json() as Promise<unknown>
  }
  const message = sayV1('x', { role: 1 })
  const few = { configuration: { historyLength: '1', return_immediately: false } }
  const { result } = await app.rpc('SendMessage', { ...message, ...few })
  t.match(result, { task: { status: { state: 'TASK_STATE_COMPLETED' }, history: { length: 1 } } })
  const { id } = (result as { task: { id: string } }).task
  t.match(await post('/message:send', { ...sayV1('y', { role: 1 }), ...few }), {
    task: { history: { length: 1 } }
  })
  t.match(await post('/v1/message:send', { message: { role: 1, content: [{ text: 'z' }] } }), {
    task: { status: { state: 'TASK_STATE_COMPLETED' } }
  })

  t.match(await app.rpc('GetTask', { id, historyLength: '0' }), { result: { id } })
  const list = async (params: object) => (await app.rpc('ListTasks', params)).result as Listed
  t.match(await list({ pageSize: '2', status: 3 }), { pageSize: 2, tasks: { length: 2 } }, 'completed')
  t.match(await list({ page_size: '2', status: 5 }), { tasks: { length: 0 } }, 'canceled')
  t.match(await list({ status: 0 }), { tasks: { length: 3 } }, 'any')
  const byQuery = async (query: string) =>
    (await fetch(`${app.url}/tasks?${query}`)).json() as Promise<Listed>
  t.match(await byQuery('status=3&pageSize=2'), { tasks: { length: 2 } })
  t.match(await byQuery('status=5'), { tasks: { length: 0 } })
})

t.test('other values are refused', async (t) => {
  const app = await buildApp(t)
  const refused: [method: string, params: object, field: string][] = [
    ['SendMessage', sayV1('x', { role: 2 }), 'message.role'],
    ['SendMessage', sayV1('x', { role: 0 }), 'message.role'],
    ['SendMessage', sayV1('x', { role: 99 }), 'message.role'],
    ['GetTask', { id: 'x', historyLength: '' }, 'historyLength'],
    ['GetTask', { id: 'x', historyLength: 'two' }, 'historyLength'],
    ['GetTask', { id: 'x', historyLength: '-1' }, 'historyLength'],
    ['GetTask', { id: 'x', historyLength: '1.5' }, 'historyLength'],
    ['ListTasks', { pageSize: '101' }, 'pageSize'],
    ['ListTasks', { pageSize: '0x10' }, 'pageSize'],
    ['ListTasks', { status: 9 }, 'status'],
    ['ListTasks', { status: -1 }, 'status'],
    ['ListTasks', { status: 1.5 }, 'status'],
    ['ListTasks', { status: '99' }, 'status'],
    ['ListTasks', { statusTimestampAfter: '2026-13-01T00:00:00Z' }, 'statusTimestampAfter'],
    ['ListTasks', { status_timestamp_after: '2026-01-01T00:00:00+99:00' }, 'statusTimestampAfter']
  ]
  for (const [method, params, field] of refused) {
    const { error } = await app.rpc(method, params)
    t.match(error, { code: -32602, message: new RegExp(field.replace('.', '\\.')) }, JSON.stringify(params))
  }
})

t.test('the caller’s own data stays unchanged', async (t) => {
  const app = await buildApp(t)
  const metadata = { page_size: '2', role: 1, status: 3, historyLength: '1' }
  const { result } = await app.rpc('SendMessage', sayV1('x', { metadata }))
  t.match(result, { task: { history: [{ metadata }] } })
})

t.test('the numbers match the official code', async (t) => {
  for (const [field, names] of Object.entries({ role: Role, status: TaskState }))
    for (const [name, number] of Object.entries(names))
      if (typeof number === 'number' && number >= 0)
        t.same(fromProtoJson({ [field]: number }), { [field]: name })
})

t.test('a request is the same in every spelling', async (t) => {
  const key = fc.constantFrom(
    'pageSize',
    'contextId',
    'status',
    'role',
    'parts',
    'message',
    'data',
    'metadata',
    'aB'
  )
  const { request } = fc.letrec((tie) => ({
    request: fc.dictionary(key, fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('request'), tie('list')), {
      noNullPrototype: true,
      maxKeys: 4
    }),
    list: fc.array(tie('request'), { maxLength: 2 }),
    leaf: fc.oneof(fc.constant(null), fc.constantFrom('', '1', 'x'), fc.integer(), fc.boolean())
  }))
  const snake = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(snake)
    const renamed = Object.entries(value).map(([name, each]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name === 'data' || name === 'metadata' ? each : snake(each)
    ])
    return Object.fromEntries(renamed) as object
  }
  fc.assert(
    fc.property(request, (asked) => {
      const read = fromProtoJson(asked)
      deepStrictEqual(fromProtoJson(snake(asked)), read)
      deepStrictEqual(fromProtoJson(read), read, 'once is enough')
      deepStrictEqual(
        fromProtoJson({ a: asked, b_c: 1 }),
        { a: read, bC: 1 },
        'beside what is spelled otherwise'
      )
    }),
    { numRuns: 300 }
  )
  t.pass('in 300 requests')
})
