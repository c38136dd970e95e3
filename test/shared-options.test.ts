import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import realtime from '@svc/realtime'
import registryPlugin, { createRegistry, type RegistryPluginOptions } from '@svc/registry'
import { scriptedVoice } from '@svc/testing'
import uiStream from '@svc/ui-stream'
import Fastify, { type FastifyInstance } from 'fastify'
import { io } from 'socket.io-client'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'

/** The options that surfaces may leave to the engine. */
type Shared = Pick<
  RegistryPluginOptions,
  'bodyLimit' | 'jsonDepth' | 'heartbeat' | 'clientTools' | 'clientInstructions'
>

/** A wire over HTTP: how it is registered, and how a run is asked of it. */
interface Wire {
  register(app: FastifyInstance, own: Shared): PromiseLike<unknown>
  readonly url: string
  body(text: string, more?: object): object
  /** The default of its own. */
  readonly bodyLimit: number
  /** What a client gives, for wires that take it. */
  readonly given?: object
}

const Input = { type: 'object', properties: {} }
const tools = [{ name: 'ask_page', description: 'Asks the page', input: Input }]
const instructions = 'Be brief'

const WIRES: Record<string, Wire> = {
  http: {
    register: (app, { bodyLimit, jsonDepth, ...own }) =>
      app.register(http, { prefix: '/api', ...own, limits: { bodyLimit, jsonDepth } } as object),
    url: '/api/agents/slow/stream',
    body: (input, more) => ({ input, ...more }),
    bodyLimit: 1_048_576,
    given: { tools, instructions }
  },
  'ui-stream': {
    register: (app, own) => app.register(uiStream, own as object),
    url: '/chat/slow',
    body: (text, more) => ({
      id: 'c',
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }],
      ...more
    }),
    bodyLimit: 10_485_760,
    given: { tools, instructions }
  },
  'ag-ui': {
    register: (app, own) => app.register(agUi, own as object),
    url: '/ag-ui/slow',
    body: (content, more) => ({
      threadId: 't',
      runId: 'r',
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [
        { id: 's', role: 'system', content: instructions },
        { id: 'm', role: 'user', content }
      ],
      ...more
    }),
    bodyLimit: 10_485_760,
    given: { tools: [{ name: 'ask_page', description: 'Asks the page', parameters: Input }] }
  },
  openai: {
    register: (app, own) => app.register(openAi, { prefix: '/v1', ...(own as object) }),
    url: '/v1/responses',
    body: (input, more) => ({ model: 'slow', input, stream: true, ...more }),
    bodyLimit: 10_485_760,
    given: { tools: [{ type: 'function', name: 'ask_page', parameters: Input }], instructions }
  },
  a2a: {
    register: (app, { bodyLimit, jsonDepth, heartbeat }) =>
      app.register(a2a, { basePath: '/a2a', heartbeat, limits: { bodyLimit, jsonDepth } } as object),
    url: '/a2a/agents/slow',
    body: (text, more) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/stream',
      params: {
        message: { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text }] },
        ...more
      }
    }),
    bodyLimit: 1_048_576
  },
  mcp: {
    register: (app, { clientTools: _, clientInstructions: __, ...own }) => app.register(mcp, own as object),
    url: '/mcp',
    body: (message, more) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'slow', arguments: { message }, ...more }
    }),
    bodyLimit: 4_194_304
  }
}

/** An app whose engine has some options, and whose agent says what the client gave, after a while. */
async function createApp(t: Test, engine: Shared) {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const registry = createRegistry()
  registry.add(scriptedVoice(undefined, { name: 'voice' }))
  registry.add({
    kind: 'agent',
    name: 'slow',
    run: async (_input, context) => {
      await pause(60)
      return JSON.stringify([context.clientTools.map(({ name }) => name), context.instructions])
    }
  })
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  return app
}

/** Asks a wire for runs, whose engine and whose own options are these. */
async function openWire(t: Test, { register, url, body }: Wire, engine: Shared, own: Shared) {
  const app = await createApp(t, engine)
  await register(app, own)
  return async (text: string, more?: object) => {
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    return app.inject({ method: 'POST', url, headers, payload: JSON.stringify(body(text, more)) })
  }
}

/** The engine's options, the surface's own, and which of the two values holds; `undefined`: the default. */
type Case<Value> = [engine: Value | undefined, own: Value | undefined, holds: Value | undefined]
const cases = <Value>(one: Value, other: Value): Case<Value>[] => [
  [undefined, undefined, undefined],
  [one, undefined, one],
  [undefined, other, other],
  [one, other, other]
]
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
const say = (engine: unknown, own: unknown) => `engine: ${String(engine)}, own: ${String(own)}`

for (const [name, wire] of Object.entries(WIRES))
  t.test(name, async (t) => {
    await t.test('bodyLimit', async (t) => {
      for (const [engine, own, holds = wire.bodyLimit] of cases(20_000, 40_000)) {
        const ask = await openWire(t, wire, { bodyLimit: engine }, { bodyLimit: own })
        if (holds < wire.bodyLimit)
          t.not((await ask('x'.repeat(holds - 2_000))).statusCode, 413, `${say(engine, own)}: below`)
        t.equal((await ask('x'.repeat(holds))).statusCode, 413, `${say(engine, own)}: above`)
      }
    })

    await t.test('jsonDepth', async (t) => {
      for (const [engine, own, holds = 64] of cases(10, 20)) {
        const ask = await openWire(t, wire, { jsonDepth: engine }, { jsonDepth: own })
        const deep = /at most \d+ levels|levels? deep|nested/
        t.notMatch((await ask('x', { metadata: nested(holds - 5) })).body, deep, `${say(engine, own)}: below`)
        t.match((await ask('x', { metadata: nested(holds) })).body, deep, `${say(engine, own)}: above`)
      }
    })

    await t.test('heartbeat', async (t) => {
      for (const [engine, own, holds = 15_000] of [...cases(5, 60_000), ...cases(60_000, 5)]) {
        const ask = await openWire(t, wire, { heartbeat: engine }, { heartbeat: own })
        const { body } = await ask('x')
        t.equal(/^:/m.test(body), holds === 5, say(engine, own))
      }
    })

    if (wire.given === undefined) return
    await t.test('clientTools and clientInstructions', async (t) => {
      for (const [engine, own, holds = false] of [...cases(true, false), ...cases(false, true)]) {
        const ask = await openWire(
          t,
          wire,
          { clientTools: engine, clientInstructions: engine },
          { clientTools: own, clientInstructions: own }
        )
        const { body } = await ask('x', wire.given)
        t.equal(body.includes('ask_page') && body.includes(instructions), holds, say(engine, own))
      }
    })
  })

t.test('gateway', async (t) => {
  for (const [engine, own, holds = false] of [...cases(true, false), ...cases(false, true)]) {
    const app = await createApp(t, {
      clientTools: engine,
      clientInstructions: engine,
      jsonDepth: engine ? 10 : 20
    })
    await app.register(gateway, { clientTools: own, clientInstructions: own } as object)
    const socket = io(await app.listen({ port: 0, host: '127.0.0.1' }), { transports: ['websocket'] })
    t.teardown(() => socket.disconnect())
    const run = (more: object) => socket.emitWithAck('agent.run', { name: 'slow', input: 'x', ...more })
    const [withTools, withInstructions] = [await run({ tools }), await run({ instructions })]
    t.equal(withTools.code, holds ? undefined : 'RUN_ERR_CLIENT_TOOLS', say(engine, own))
    t.equal(withInstructions.code, holds ? undefined : 'RUN_ERR_CLIENT_INSTRUCTIONS', say(engine, own))
    t.match(await run({ metadata: nested(15) }), { error: engine ? /nested too deep/ : /metadata/ })
  }
})

t.test('realtime: client secrets and sessions', async (t) => {
  for (const [engine, own, holds = true] of [...cases(true, false), ...cases(false, true)]) {
    const app = await createApp(t, { clientTools: engine, clientInstructions: engine, bodyLimit: 20_000 })
    await app.register(realtime, { prefix: '/v1', clientTools: own, clientInstructions: own } as object)
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/realtime?model=voice`)
    t.teardown(() => socket.close())
    await once(socket, 'open')
    const received: string[] = []
    const answered = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        received.push(String(data))
        if (/"(session\.updated|error)"/.test(String(data))) resolve()
      })
    })
    const session = { type: 'realtime', tools: [{ type: 'function', name: 'ask_page' }], instructions }
    socket.send(JSON.stringify({ type: 'session.update', session }))
    await answered
    t.match(received.join('\n'), holds ? 'session.updated' : 'RUN_ERR_CLIENT', say(engine, own))
    const tooLarge = { session: { model: 'voice', instructions: 'x'.repeat(20_000) } }
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/v1/realtime/client_secrets',
      payload: tooLarge
    })
    t.equal(statusCode, 413)
  }
})
