import { createHook } from 'node:async_hooks'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine, type OnDisconnect } from '@svc/registry'
import { Agent, defineTool, type AgentTool, type ToolContext } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { interceptStores } from '@svc/testing'
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
  init(_id, type, _trigger, resource) {
    // One timer has the text of all runs written that nobody follows.
    const { _idleTimeout } = resource as { _idleTimeout?: number }
    if (type === 'Timeout' && _idleTimeout !== 50) cost.timers++
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

/** Counts the calls of stores, as `port.method`. */
function countCall(port: string, method: string): void {
  const key = `${port}.${method}`
  cost.calls[key] = (cost.calls[key] ?? 0) + 1
}

interface Given {
  tools?: AgentTool[]
  onDisconnect?: OnDisconnect
}

/** What the second run of an agent costs; the first one may make what lasts. */
async function costOf(script: Script, { tools, onDisconnect = 'cancel' }: Given = {}): Promise<Cost> {
  const engine = createRunEngine({ stores: interceptStores(createInProcessStores(), countCall) })
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
      // The end of its step is written with its own.
      'log.append': 4,
      'log.onFollowed': 1,
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
    // The end of a step that is recorded is written for itself.
    calls: { ...tied.calls, 'log.append': 5, 'checkpoints.save': 1, 'checkpoints.remove': 1 }
  })
})

t.test('the number of increments changes nothing', async (t) => {
  const text = Array.from({ length: 50 }, () => 'word ')
  t.strictSame(await costOf({ text }), await costOf('Hello.'))
})

const CALL = { toolName: 'work', args: {} }
const define = (execute: (context: ToolContext) => unknown, more: { timeout?: number } = {}) =>
  defineTool({
    name: 'work',
    description: 'Works',
    input: Type.Object({}),
    execute: (_, context) => execute(context),
    ...more
  })
const calling =
  (count: number): Script =>
  ({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: Array.from({ length: count }, () => CALL) }

const later = () => new Promise((resolve) => process.nextTick(resolve, 1))

t.test('calls of tools make nothing that the tools do not ask for', async (t) => {
  const own = { timers: 1, immediates: 1, listeners: 0, controllers: 1 }
  for (const count of [1, 10])
    for (const execute of [() => 1, later]) {
      const { calls, ...rest } = await costOf(calling(count), { tools: [define(execute)] })
      t.strictSame(rest, own)
      t.equal(calls['log.append'], (execute === later ? 6 : 5) + 2 * count)
    }
  const { controllers } = await costOf(calling(1), { tools: [define(({ signal }) => signal.aborted)] })
  t.equal(controllers, 2, 'a signal is made for a tool that reads it')
})

t.test('the timer of a run is set again only for a time-out that is due before it fires', async (t) => {
  for (const [timeout, timers] of [
    [60_000, 1],
    [50_000, 2]
  ] as const) {
    const cost = await costOf(calling(10), { tools: [define(later, { timeout })] })
    t.equal(cost.timers, timers)
  }
})
