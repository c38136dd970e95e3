import { createHook } from 'node:async_hooks'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine, type OnDisconnect, type Stores } from '@svc/registry'
import { Agent, defineTool, type AgentTool } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import t from 'tap'

interface Cost {
  /** Of `setTimeout` and `setInterval`. */
  timers: number
  immediates: number
  /** Listeners of event targets, such as signals. */
  listeners: number
  controllers: number
  calls: Record<string, number>
}

const cost: Cost = { timers: 0, immediates: 0, listeners: 0, controllers: 0, calls: {} }

createHook({
  init(_id, type) {
    if (type === 'Timeout') cost.timers++
    if (type === 'Immediate') cost.immediates++
  }
}).enable()

const { addEventListener } = EventTarget.prototype
EventTarget.prototype.addEventListener = function (
  this: EventTarget,
  ...args: Parameters<typeof addEventListener>
) {
  cost.listeners++
  addEventListener.apply(this, args)
}

globalThis.AbortController = class extends AbortController {
  constructor() {
    super()
    cost.controllers++
  }
}

/** Stores whose calls are counted, as `port.method`. */
function countingStores(): Stores {
  const ports = Object.entries(createInProcessStores()).map(([port, methods]) => [
    port,
    new Proxy(methods as object, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          const key = `${port}.${String(name)}`
          cost.calls[key] = (cost.calls[key] ?? 0) + 1
          return method.apply(target, args) as unknown
        }
      }
    })
  ])
  return Object.fromEntries(ports) as Stores
}

interface Given {
  tools?: AgentTool[]
  onDisconnect?: OnDisconnect
}

/** What the second run of an agent costs; the first one may make what lasts. */
async function costOf(script: Script, { tools, onDisconnect = 'cancel' }: Given = {}): Promise<Cost> {
  const engine = createRunEngine({ stores: countingStores() })
  const model = scriptedModel(script, { record: false })
  const agent = new Agent({ name: 'counted', model, tools: tools ?? [], register: false })
  let counted = cost
  for (const input of ['first', 'second']) {
    Object.assign(cost, { timers: 0, immediates: 0, listeners: 0, controllers: 0, calls: {} })
    const run = await engine.start(agent, input, { onDisconnect })
    await run.result()
    counted = structuredClone(cost)
  }
  await engine.close()
  return counted
}

t.test('a run of one text makes nothing that it does not use', async (t) => {
  t.strictSame(await costOf('Hello.'), {
    // Its time-outs.
    timers: 1,
    // The delivery of its result.
    immediates: 1,
    listeners: 0,
    // For the model call.
    controllers: 1,
    calls: {
      'runs.create': 1,
      'log.append': 5,
      'sessions.lock': 1,
      'sessionIndex.enter': 1,
      'sessions.append': 1
    }
  })
})

t.test('a run that another process could resume has a checkpoint', async (t) => {
  const tied = await costOf('Hello.')
  t.strictSame(await costOf('Hello.', { onDisconnect: 'continue' }), {
    ...tied,
    calls: { ...tied.calls, 'checkpoints.save': 1, 'checkpoints.remove': 1 }
  })
})

t.test('the number of increments changes nothing but the log', async (t) => {
  const { calls, ...rest } = await costOf({ text: Array.from({ length: 50 }, () => 'word ') })
  t.strictSame(rest, { timers: 1, immediates: 1, listeners: 0, controllers: 1 })
  t.equal(calls['log.append'], 54)
})

t.test('a call of a tool adds its time-out and its signal', async (t) => {
  const tool = defineTool({ name: 'add', description: 'Adds', input: Type.Object({}), execute: () => 1 })
  const call = { toolCalls: [{ toolName: 'add', args: {} }] }
  const script: Script = ({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : call)
  const { calls, ...rest } = await costOf(script, { tools: [tool] })
  t.strictSame(rest, { timers: 2, immediates: 1, listeners: 0, controllers: 2 })
  t.equal(calls['log.append'], 9)
})
