import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { RunContext } from '@svc/registry'
import t from 'tap'
import { mcpApp } from '../helpers/mcp-app.ts'
import { sendModern } from '../helpers/send-modern.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const WITH_TASKS = { elicitation: {}, extensions: { [TASKS]: {} } }

const send = (
  url: string,
  method: string,
  params: Record<string, unknown>,
  { capabilities = WITH_TASKS, token }: { capabilities?: object; token?: string } = {}
) => sendModern(url, method, params, { capabilities, ...(token !== undefined && { token }) })

const slow = {
  kind: 'agent' as const,
  name: 'slow',
  run: async (input: unknown, context: RunContext) => {
    if (input === 'fail') throw new Error('broken')
    if (input === 'ask') {
      const { content } = await context.ask({ message: 'Which?', toolCallId: 'a' })
      return `It is ${String(content)}`
    }
    await new Promise((_resolve, reject) =>
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error))
    )
    return 'never'
  }
}

/** Polls a task until its status is one of these. */
async function until(url: string, taskId: string, ...statuses: string[]) {
  for (;;) {
    const { result, error } = await send(url, 'tasks/get', { taskId })
    if (error !== undefined) throw new Error(JSON.stringify(error))
    if (statuses.includes(String(result?.['status']))) return result!
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const call = (url: string, message: string) =>
  send(url, 'tools/call', { name: 'slow', arguments: { message } })

void t.test('a long call becomes a task, whose id is that of the run', async (t) => {
  const { url, runs } = await mcpApp(t, { runnables: [slow], options: { taskAfter: 0 } })
  const { result: task } = await call(url, 'wait')
  t.match(task, { resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 1_000 })
  t.notOk('content' in task!)
  const taskId = String(task!['taskId'])
  t.equal((await runs.find(taskId))?.name, 'slow')
  t.match((await send(url, 'tasks/get', { taskId })).result, { resultType: 'complete', status: 'working' })

  t.match(await send(url, 'tasks/cancel', { taskId }), { result: { resultType: 'complete' } })
  t.match(await until(url, taskId, 'cancelled'), { status: 'cancelled' })
  t.match(await send(url, 'tasks/cancel', { taskId }), { result: { resultType: 'complete' } }, 'once more')
  t.match((await send(url, 'tasks/get', { taskId: 'nobody' })).error, { code: -32602 })
})

void t.test('a task asks, and goes on with the answer', async (t) => {
  const { url } = await mcpApp(t, { runnables: [slow], options: { taskAfter: 0 } })
  const { result: task } = await call(url, 'ask')
  const taskId = String(task!['taskId'])
  const waiting = await until(url, taskId, 'input_required')
  const requests = waiting['inputRequests'] as Record<string, { method: string; params: object }>
  const [inputId = ''] = Object.keys(requests)
  t.match(requests[inputId], { method: 'elicitation/create', params: { message: 'Which?' } })
  const inputResponses = {
    [inputId]: { action: 'accept', content: { answer: 'blue' } },
    unknown: { action: 'accept', content: {} }
  }
  t.match(await send(url, 'tasks/update', { taskId, inputResponses }), { result: { resultType: 'complete' } })
  t.match(await until(url, taskId, 'completed'), {
    result: { content: [{ type: 'text', text: 'It is blue' }] }
  })
  t.match(await send(url, 'tasks/update', { taskId, inputResponses }), { result: {} }, 'answered before')
})

void t.test('a task takes no answers to what another one asks', async (t) => {
  const { url } = await mcpApp(t, { runnables: [slow], options: { taskAfter: 0 } })
  const [first, second] = await Promise.all(
    ['ask', 'ask'].map(async (message) => String((await call(url, message)).result!['taskId']))
  )
  const { inputRequests } = await until(url, second!, 'input_required')
  const [inputId = ''] = Object.keys(inputRequests as object)
  const inputResponses = { [inputId]: { action: 'accept', content: { answer: 'blue' } } }
  t.match(await send(url, 'tasks/update', { taskId: first, inputResponses }), { result: {} })
  t.match(await until(url, second!, 'input_required', 'completed'), { status: 'input_required' })
  t.match(await send(url, 'tasks/update', { taskId: second, inputResponses }), { result: {} })
  t.match(await until(url, second!, 'completed'), { result: { content: [{ text: 'It is blue' }] } })
})

void t.test('a failed run is a task that completed with an error', async (t) => {
  const { url } = await mcpApp(t, { runnables: [slow], options: { taskAfter: 0 } })
  const { result } = await call(url, 'fail')
  const ended =
    result!['resultType'] === 'task'
      ? (await until(url, String(result!['taskId']), 'completed'))['result']
      : result
  t.match(ended, { isError: true })
})

void t.test('tasks are for clients that know them, and for their owner', async (t) => {
  const authenticate = ({ token }: { token?: string }) =>
    token === undefined ? null : { sub: token, scopes: [] }
  const { url } = await mcpApp(t, {
    runnables: [slow],
    options: { taskAfter: 0 },
    engine: { authenticate }
  })
  const ann = { token: 'ann' }
  const { result } = await send(url, 'tools/call', { name: 'slow', arguments: { message: 'wait' } }, ann)
  const taskId = String(result!['taskId'])
  t.match(await send(url, 'tasks/get', { taskId }, ann), { result: { status: 'working' } })
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    t.match(
      await send(url, method, { taskId, inputResponses: {} }, { token: 'bob' }),
      { error: { code: -32602, data: { code: 'RUN_ERR_NOT_FOUND' } } },
      `${method} of another`
    )
  t.match(await send(url, 'tasks/get', { taskId }, { ...ann, capabilities: {} }), { error: { code: -32021 } })
  await send(url, 'tasks/cancel', { taskId }, ann)
})

void t.test('the official client gets no task that it does not know', async (t) => {
  const { url } = await mcpApp(t, { runnables: [slow], options: { taskAfter: 0 } })
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } }
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { answer: 'red' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  const result = await client.callTool({ name: 'slow', arguments: { message: 'ask' } })
  t.match(result.content, [{ text: 'It is red' }])
})
