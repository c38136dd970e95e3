import { createHook } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Script } from '@svc/runtime/testing'
import t from 'tap'

/** What is made for one request. */
interface Cost {
  promises: number
  /** Of `setTimeout` and `setInterval`. */
  timers: number
  immediates: number
  /** Of event targets, such as signals. */
  listeners: number
  controllers: number
  errors: number
  /** Of the ports of the stores. */
  calls: number
}

const cost: Cost = {
  promises: 0,
  timers: 0,
  immediates: 0,
  listeners: 0,
  controllers: 0,
  errors: 0,
  calls: 0
}
const KEYS = Object.keys(cost) as (keyof Cost)[]
const RESOURCES: Readonly<Record<string, keyof Cost>> = {
  PROMISE: 'promises',
  Timeout: 'timers',
  Immediate: 'immediates'
}
createHook({
  init(_id, type) {
    const counted = RESOURCES[type]
    if (counted !== undefined) cost[counted]++
  }
}).enable()
// No timer fires: one that runs share is then set once, however long a request takes on a busy machine.
const startTimer = globalThis.setTimeout
const neverFiring = (run: () => void) => startTimer(run, 2_147_483_647).unref()
globalThis.setTimeout = Object.assign(neverFiring, startTimer) as typeof setTimeout
count(EventTarget.prototype, 'addEventListener', 'listeners')
count(globalThis, 'AbortController', 'controllers')
count(globalThis, 'Error', 'errors')
// Errors of a catalogue call no constructor of another class.
count(Error, 'captureStackTrace', 'errors')

/** Counts the calls of a function of an object, also those with `new`. */
function count(object: object, name: string, as: keyof Cost): void {
  const counted = new Proxy(Reflect.get(object, name) as typeof Error, {
    apply(target, self, args) {
      cost[as]++
      return Reflect.apply(target, self, args) as unknown
    },
    construct(target, args, newTarget) {
      cost[as]++
      return Reflect.construct(target, args, newTarget) as object
    }
  })
  Reflect.set(object, name, counted)
}

// Only now, so that classes of errors extend the counted one.
const { Type } = await import('@sinclair/typebox')
const { default: http } = await import('@svc/http')
const { default: openAiAgents } = await import('@svc/openai/agents')
const { default: registry, createInProcessStores, createRegistry } = await import('@svc/registry')
const { Agent, defineTool } = await import('@svc/runtime')
const { scriptedModel } = await import('@svc/runtime/testing')
const { interceptStores } = await import('@svc/testing')
const { default: Fastify } = await import('fastify')

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  input: Type.Object({ a: Type.Number(), b: Type.Number() }),
  execute: ({ a, b }) => a + b
})
const call = { toolCalls: [{ toolName: 'add', args: { a: 1, b: 2 } }] }
const SCRIPTS: Readonly<Record<string, Script>> = {
  text: 'Hello.',
  tool: ({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Hello.' : call)
}

const agents = createRegistry()
const stores = interceptStores(createInProcessStores(), () => void cost.calls++)
const app = Fastify()
await app.register(registry, { registry: agents, stores })
await app.register(http, { prefix: '/api' })
await app.register(openAiAgents, { prefix: '/openai' })
app.post('/bare', async () => ({ text: 'Hello.' }))
for (const [name, script] of Object.entries(SCRIPTS))
  new Agent({
    name,
    model: scriptedModel(script, { record: false }),
    tools: name === 'tool' ? [add] : [],
    registry: agents
  })
t.teardown(() => app.close())

interface Sent {
  readonly payload?: object | (() => object)
  readonly headers?: Record<string, string>
}

/** What the middle one of 15 requests makes: the first ones also make what lasts. */
async function costOf(url: string, { payload = { input: 'Hi' }, headers = {} }: Sent = {}): Promise<Cost> {
  const all: Cost[] = []
  for (let times = 0; times < 15; times++) {
    const sent = typeof payload === 'function' ? payload() : payload
    for (const key of KEYS) cost[key] = 0
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload: sent, headers })
    all.push({ ...cost })
    if (statusCode === 200 && !body.includes('Hello.')) throw new Error(body)
  }
  const middle = { ...cost }
  for (const key of KEYS) middle[key] = all.map((each) => each[key]).toSorted((a, b) => a - b)[7]!
  return middle
}

/** The most that a run over HTTP may make beyond a bare route. Lower what a change has made unnecessary. */
const MOST: Readonly<Record<string, Cost>> = {
  text: { promises: 28, timers: 1, immediates: 1, listeners: 0, controllers: 1, errors: 0, calls: 9 },
  tool: { promises: 40, timers: 1, immediates: 1, listeners: 0, controllers: 1, errors: 0, calls: 12 }
}

const bare = await costOf('/bare')

t.test('errors are counted', async (t) => {
  t.ok((await costOf('/api/agents/unknown/run')).errors > 0)
})

for (const [name, most] of Object.entries(MOST))
  t.test(`a run of one ${name} makes nothing that it does not use`, async (t) => {
    const own = await costOf(`/api/agents/${name}/run`)
    for (const key of KEYS) {
      const beyond = own[key] - bare[key]
      t.ok(beyond <= most[key], `${beyond} ${key}, at most ${most[key]}`)
    }
  })

t.test('a session of the Agents API streams its first turn with little beyond our own stream', async (t) => {
  // Of a run that begins a session, and goes on without its client.
  const payload = () => ({ input: 'Hi', sessionId: randomUUID(), onDisconnect: 'continue' })
  const stream = await costOf('/api/agents/text/stream', { payload })
  const own = await costOf('/openai/agents/sessions', {
    payload: { agent_id: 'text', environment: { type: 'none' }, input: 'Hi', stream: true },
    headers: { 'openai-beta': 'agents=v1' }
  })
  // The session is created, and the ids of its events have the place of the run in it.
  const most = { promises: 25, timers: 0, immediates: 0, listeners: 0, controllers: 0, errors: 0, calls: 2 }
  for (const key of KEYS) {
    const beyond = own[key] - stream[key]
    t.ok(beyond <= most[key], `${beyond} ${key}, at most ${most[key]}`)
  }
})
