import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
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
  /** True if its streams are those of sessions. */
  readonly ofSession?: true
  /** Of the run that a reply began, for wires whose replies do not have it: a stream that goes on after it. */
  streamOf?(reply: string): string
}

/** Revisions of APIs in beta. */
const BETAS = { 'openai-beta': 'agents=v1', 'anthropic-beta': 'managed-agents-2026-04-01' }

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
  'openai, agents': {
    register: (app, own) => app.register(openAiAgents, { prefix: '/v1', ...(own as object) }),
    url: '/v1/agents/sessions',
    body: (input, more) => ({
      agent_id: 'slow',
      environment: { type: 'none' },
      input,
      stream: true,
      ...more
    }),
    bodyLimit: 4_194_304,
    given: { agent: { tools: [{ type: 'function', name: 'ask_page', parameters: Input }], instructions } }
  },
  anthropic: {
    register: (app, own) => app.register(anthropic, own as object),
    url: '/v1/sessions',
    body: (text, more) => ({
      agent: 'slow',
      environment_id: 'env_service',
      initial_events: [{ type: 'user.message', content: [{ type: 'text', text }] }],
      ...more
    }),
    bodyLimit: 4_194_304,
    given: {
      agent: {
        type: 'agent_with_overrides',
        id: 'slow',
        tools: [{ type: 'custom', name: 'ask_page', description: 'Asks the page', input_schema: Input }],
        system: instructions
      }
    },
    ofSession: true,
    streamOf: (reply) => `/v1/sessions/${(JSON.parse(reply) as { id: string }).id}/events/stream?after=0.0`
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

/** An app whose engine has some options, and whose agent says what the client gave, as soon as it may. */
async function createApp(t: Test, engine: Shared, may: () => Promise<unknown> = async () => {}) {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const registry = createRegistry()
  registry.add(scriptedVoice(undefined, { name: 'voice' }))
  registry.add({
    kind: 'agent',
    name: 'slow',
    run: async (_input, context) => {
      await may()
      return JSON.stringify([context.clientTools.map(({ name }) => name), context.instructions])
    }
  })
  await app.register(registryPlugin, { registry, drainTimeout: 50, ...engine })
  return app
}

const requestOf = ({ url, body }: Wire, text: string, more?: object) => ({
  method: 'POST' as const,
  url,
  headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...BETAS },
  payload: JSON.stringify(body(text, more))
})

/** Asks a wire for runs, whose engine and whose own options are these. */
async function openWire(t: Test, wire: Wire, engine: Shared, own: Shared) {
  const app = await createApp(t, engine)
  await wire.register(app, own)
  return async (text: string, more?: object) => askFor(app, wire, text, more)
}

/** Asks a wire for a run, and reads what it says of it; `onText` is told all that there is so far. */
async function askFor(
  app: FastifyInstance,
  wire: Wire,
  text: string,
  more?: object,
  onText?: (sofar: string) => void
) {
  const reply = await app.inject({ ...requestOf(wire, text, more), payloadAsStream: true })
  const { statusCode } = reply
  const body = await readText(reply.stream(), onText)
  const url = statusCode === 200 ? wire.streamOf?.(body) : undefined
  if (url === undefined) return { statusCode, body }
  const followed = await app.inject({ url, headers: BETAS, payloadAsStream: true })
  return { statusCode, body: await readText(followed.stream(), onText, /"session\.status_idle"/) }
}

async function readText(
  stream: AsyncIterable<unknown>,
  onText?: (sofar: string) => void,
  end?: RegExp
): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    onText?.(text)
    if (end?.test(text)) break
  }
  return text
}

/** True if a text has comments, beside the one with which streams of sessions begin. */
function isBeating({ ofSession }: Wire, text: string): boolean {
  return [...text.matchAll(/^:/gm)].length > (ofSession ? 1 : 0)
}

/** What a wire streams whose agent answers when the reader saw a comment or, if it waits for none, after twelve times 5 ms. */
async function readSlowly(t: Test, wire: Wire, [engine, own]: Case<number>, waits: boolean) {
  let isSeen = false
  // One after the other: a timer of 5 ms that began before the third of them ends before the last, however busy the machine is.
  const may = async () => {
    for (let count = 0; waits ? !isSeen : count < 12; count++) await pause(5)
  }
  const app = await createApp(t, { heartbeat: engine }, may)
  await wire.register(app, { heartbeat: own })
  const { body } = await askFor(app, wire, 'x', undefined, (text) => void (isSeen ||= isBeating(wire, text)))
  return body
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
      for (const [engine, own, holds = 10_000] of [...cases(5, 60_000), ...cases(60_000, 5)]) {
        const text = await readSlowly(t, wire, [engine, own, holds], holds === 5)
        t.equal(isBeating(wire, text), holds === 5, say(engine, own))
        t.match(text, '[[],', 'it is read to its end')
      }
    })

    await t.test('a silent stream has a comment every 10 seconds', async (t) => {
      let hasTimer = false
      const { setInterval } = globalThis
      t.intercept(globalThis, 'setInterval', {
        value: (...given: Parameters<typeof setInterval>) => {
          hasTimer ||= given[1] === 10_000
          return setInterval(...given)
        }
      })
      // The agent is silent until its stream is; at most for a second, if that never comes.
      const app = await createApp(t, {}, async () => {
        for (let count = 0; !hasTimer && count < 200; count++) await pause(5)
      })
      await wire.register(app, {})
      await askFor(app, wire, 'x')
      t.ok(hasTimer)
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
