import { once } from 'node:events'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import { io, type Socket } from 'socket.io-client'
import t, { type Test } from 'tap'

const secret = 'tok-3f9a-secret'
const schema = Type.Object({ token: Type.String() })

/** An app with every surface, whose agent signs in with a tool; each caller is named by its token. */
async function build(t: Test) {
  const got: unknown[] = []
  const lines: string[] = []
  const sign = defineTool({
    name: 'sign',
    description: 'Signs in',
    input: Type.Object({}),
    async execute(_args, { requestCredentials, log }) {
      const { action, credentials } = await requestCredentials({ message: 'Sign in', schema })
      got.push(credentials?.reveal())
      log.info({ credentials }, 'signed in')
      return { action, credentials }
    }
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ toolName: 'sign', toolCallId: 'c' }] }
  )
  const registry = createRegistry()
  registry.add(new Agent({ name: 'signer', register: false, model, tools: [sign] }))
  const app = Fastify({ logger: { level: 'trace', stream: { write: (line: string) => lines.push(line) } } })
  const authenticate = async ({ token }: { token?: string | undefined }) => {
    const [sub = 'nobody', ...scopes] = (token ?? '').split('-')
    return { sub, scopes }
  }
  await app.register(registryPlugin, { registry, authenticate })
  await app.register(http, { prefix: '/api' })
  await app.register(gateway, { transports: ['websocket'] })
  await app.register(a2a, { basePath: '/a2a', exposeToolResults: true })
  const events: unknown[] = []
  for (const name of ['run.start', 'run.complete'] as const)
    app.runs.events.on(name, (event: unknown) => events.push(event))
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (token: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(origin + path, init)
    return { status: response.status, body: (await response.json()) as never }
  }
  const connect = async (token: string): Promise<Socket> => {
    const socket = io(origin, { transports: ['websocket'], forceNew: true, auth: { token } })
    t.teardown(() => socket.disconnect())
    await once(socket as never, 'connect')
    return socket
  }
  const start = async () => {
    const agent = registry.get('agent', 'signer')!
    const run = await app.runs.start(agent, 'Go', {
      principal: { sub: 'ann', scopes: [], claims: {} } as never
    })
    for await (const part of run.parts())
      if (part.type === 'input.request') return { run, inputId: part.inputId, seq: part.seq }
    throw new Error('it asks for nothing')
  }
  const tracesOf = async (runId: string) => {
    const { stores } = app.runs
    const log = await stores.log.read(runId, 0, { entries: 1_000, bytes: 1_000_000 })
    const stored = [await stores.runs.get(runId), await stores.tasks.get(runId), log]
    return JSON.stringify([stored, events]) + lines.join('')
  }
  return { ask, connect, start, got, tracesOf }
}

t.test('over HTTP, sockets and A2A the owner gives an agent credentials, and no one else does', async (t) => {
  const { ask, connect, start, got, tracesOf } = await build(t)
  const content = { token: secret }
  const others = ['bob', 'eva-inputs:answer-approvals:answer-agents:run']
  const [ann, eva] = [await connect('ann'), await connect(others[1]!)]
  const ways = {
    HTTP: (inputId: string) => ask('ann', `/api/inputs/${inputId}`, { action: 'accept', content }),
    sockets: (inputId: string) => ann.emitWithAck('input.answer', { inputId, action: 'accept', content }),
    A2A: (inputId: string) =>
      ask('ann', '/a2a/message:send', {
        message: {
          messageId: inputId,
          role: 'ROLE_USER',
          taskId: inputId.split('.')[0],
          parts: [{ data: { inputId, action: 'accept', content } }]
        }
      })
  }
  for (const [name, give] of Object.entries(ways)) {
    got.length = 0
    const { run, inputId } = await start()
    const { body } = await ask('ann', '/api/inputs')
    const asked = { inputId, kind: 'auth', message: 'Sign in', schema: { type: 'object' } }
    t.match(body, { inputs: [asked] }, name)
    t.match((await ask('ann', `/api/runs/${run.runId}`)).body, {
      status: 'input-required',
      pendingInputs: [asked]
    })
    for (const token of others) {
      t.match((await ask(token, '/api/inputs')).body, { inputs: [] })
      t.equal((await ask(token, `/api/inputs/${inputId}`, { action: 'accept', content })).status, 404)
    }
    const given = { inputId, action: 'accept', content }
    t.match(await eva.emitWithAck('input.answer', given), { code: 'RUN_ERR_INPUT_NOT_FOUND' })
    const bad = await ask('ann', `/api/inputs/${inputId}`, { action: 'accept', content: secret })
    t.equal(bad.status, 400)
    t.same(got, [])
    const replies = [bad.body, await give(inputId)]
    t.match(await run.result(), { text: 'Done.' })
    t.same(got, [content])
    const record = (await ask('ann', `/api/runs/${run.runId}`)).body
    t.notMatch(JSON.stringify([replies, record]), secret)
    t.notMatch(await tracesOf(run.runId), secret)
  }
})
