import { once } from 'node:events'
import { Type } from '@sinclair/typebox'
import a2a, { remoteAgent } from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registry, { createRegistry, expose, type Registry } from '@svc/registry'
import { Agent, defineTool, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import { io } from 'socket.io-client'
import t from 'tap'

type Test = Pick<typeof t, 'teardown'>

/** The error of an app's runnables, and of its agent's tool. */
interface Failing {
  fail: () => Error
}

const ORDER = { code: 'ORDER_NOT_FOUND', message: 'There is no order 7' }
const EXPOSED: Failing = { fail: () => expose({ ...ORDER, statusCode: 404 }) }
const FORGED = { code: 'RUN_ERR_ORDER_NOT_FOUND', message: 'secret', statusCode: 404 }
const FORGERS: Record<string, Failing> = {
  'one with our prefix': { fail: () => Object.assign(new Error('secret'), FORGED) },
  'one with a code of ours': {
    fail: () => Object.assign(new Error('secret'), FORGED, { code: 'RUN_ERR_NOT_FOUND' })
  },
  'one that a request brought': {
    fail: () => Object.assign(new Error('secret'), JSON.parse('{"code":"HTTP_ERR_BODY_TOO_LARGE"}'))
  }
}

function addRunnables(to: Registry, { fail }: Failing): void {
  const thrower = {
    kind: 'agent' as const,
    name: 'thrower',
    async *stream() {
      yield { type: 'text' as const, text: 'half' }
      throw fail()
    }
  }
  to.add(thrower)
  to.add({
    ...thrower,
    name: 'teller',
    async *stream() {
      const error = fail() as Error & { code: string }
      yield { type: 'error', error: Object.assign(error, { retryable: false }) }
    }
  })
  const steps = new Workflow({
    name: 'steps',
    register: false,
    steps: (flow) =>
      flow.step('one', () => {
        throw fail()
      })
  })
  to.add(steps)
  to.add(new Team({ name: 'team', mode: 'sequence', members: [thrower], register: false }))
  const tool = defineTool({
    name: 'find',
    description: '',
    input: Type.Object({}),
    execute: () => Promise.reject(fail())
  })
  const model = scriptedModel([{ toolCalls: [{ toolName: 'find' }] }, 'Sorry.'])
  to.add(new Agent({ name: 'tooled', model, tools: [tool], register: false }))
}

/** Serves an app with every surface; the methods return what clients see of a failed run. */
async function serve({ teardown }: Test, failing: Failing) {
  const app = Fastify({ forceCloseConnections: true })
  teardown(() => app.close())
  const own = createRegistry()
  addRunnables(own, failing)
  await app.register(registry, { registry: own, drainTimeout: 50 })
  await app.register(http, { prefix: '/api' })
  await app.register(gateway)
  await app.register(a2a, { basePath: '/a2a' })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = (path: string, body: object) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  return {
    origin,
    async run(path: string) {
      const response = await post(`/api/${path}/run`, { input: 'x' })
      return [response.status, (await response.json()) as { code: string; message: string }] as const
    },
    async lastPart(path: string) {
      const text = await (await post(`/api/${path}/stream`, { input: 'x' })).text()
      return JSON.parse(
        text
          .match(/^data: (.*)$/gm)!
          .at(-1)!
          .slice(6)
      ) as { error: object }
    },
    async records() {
      return (await (await fetch(`${origin}/api/runs`)).json()) as { runs: { error: object }[] }
    },
    async event(name: string) {
      const client = io(origin, { transports: ['websocket'], reconnection: false })
      teardown(() => client.disconnect())
      await once(client as never, 'connect')
      const told = once(client as never, 'agent.error')
      client.emit('agent.run', { name, input: 'x' })
      const [event] = (await told) as [{ error: string; code: string }]
      return event
    },
    async task(agentName: string) {
      const message = {
        role: 'user',
        kind: 'message',
        messageId: agentName,
        parts: [{ kind: 'text', text: 'x' }]
      }
      const params = { message: { ...message, metadata: { agentName } } }
      const reply = await post('/a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params })
      return ((await reply.json()) as { result: { status: object } }).result.status
    }
  }
}

t.test('an exposed error is the same on every surface', async (t) => {
  const { origin, ...app } = await serve(t, EXPOSED)
  for (const path of ['agents/thrower', 'agents/teller', 'workflows/steps', 'teams/team']) {
    const [status, body] = await app.run(path)
    t.equal(status, 404, path)
    t.match(body, ORDER, path)
    t.match(await app.lastPart(path), { type: 'error', error: { ...ORDER, retryable: false } }, path)
  }
  for (const { error } of (await app.records()).runs) t.match(error, ORDER)
  const { code, message } = ORDER
  t.match(await app.event('thrower'), { code, error: message })
  const failed = { state: 'failed', message: { parts: [{ text: message }], metadata: { code } } }
  t.match(await app.task('thrower'), failed)
  const [, { toolCalls }] = (await app.run('agents/tooled')) as never as [0, { toolCalls: object[] }]
  t.match(toolCalls, [{ error: ORDER }], 'the model sees it too')
  const remote = remoteAgent({ url: `${origin}/a2a`, agentName: 'thrower' })
  await t.rejects(remote.run('x'), { code: 'A2A_ERR_REMOTE' }, 'a remote agent passes on the message only')
})

for (const [what, forger] of Object.entries(FORGERS)) {
  t.test(`any other error is hidden: ${what}`, async (t) => {
    const app = await serve(t, forger)
    const failed = { code: 'RUN_ERR_FAILED', message: 'The run failed' }
    const seen: unknown[] = []
    for (const path of ['agents/thrower', 'agents/teller', 'workflows/steps', 'teams/team']) {
      const [status, body] = await app.run(path)
      t.equal(status, 500, path)
      t.match(body, failed, path)
      const last = await app.lastPart(path)
      t.match(last, { type: 'error', error: failed }, path)
      seen.push(body, last)
    }
    const event = await app.event('thrower')
    const task = await app.task('thrower')
    t.match(event, { code: failed.code, error: failed.message })
    t.match(task, { state: 'failed', message: { metadata: { code: failed.code } } })
    t.notMatch(JSON.stringify([seen, event, task, await app.records()]), /secret|ORDER|BODY_TOO/)
    const [, { toolCalls }] = (await app.run('agents/tooled')) as never as [0, { toolCalls: object[] }]
    t.match(
      toolCalls,
      [{ error: { code: 'RUN_ERR_TOOL_FAILED', message: 'secret' } }],
      'the model sees the message of a tool error'
    )
  })
}

t.test('authenticate may refuse a caller with its own error', async (t) => {
  const authenticate = () => {
    throw expose({ code: 'ACCOUNT_LOCKED', message: 'Your account is locked', statusCode: 403 })
  }
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(http, { prefix: '/api', authenticate })
  await app.register(gateway, { authenticate })
  await app.register(a2a, { basePath: '/a2a', authenticate })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const locked = { code: 'ACCOUNT_LOCKED', message: 'Your account is locked' }
  const reply = await fetch(`${origin}/api/runs`)
  t.equal(reply.status, 403)
  t.match(await reply.json(), locked)
  const client = io(origin, { transports: ['websocket'], reconnection: false })
  t.teardown(() => client.disconnect())
  const [refusal] = (await once(client as never, 'connect_error')) as [Error]
  t.match(refusal, { message: locked.message, data: { code: locked.code } })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } })
  const rpc = await fetch(`${origin}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body
  })
  t.equal(rpc.status, 403)
  t.match(await rpc.json(), { error: { code: -32000, message: locked.message } })
})
