import { setImmediate } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine, type NumberedPart, type RunEngine } from '@svc/registry'
import { Agent, defineTool, type Tool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { pay } from '../helpers/make-agent.ts'

// Longer than any of these tests.
const LONG = 60_000

/** An agent that calls its tool and answers then, and the prompts that its model has got. */
function calling(tool: Tool) {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ toolName: tool.name, toolCallId: 'c' }] }
  )
  return { agent: new Agent({ name: 'agent', register: false, model, tools: [tool] }), calls: model.calls }
}

async function finish(engine: RunEngine, agent: Agent, runId: string): Promise<NumberedPart[]> {
  await engine.recover()
  await engine.resume(agent)
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(runId)) parts.push(part)
  return parts
}

t.test('a drain waits for tools, and leaves the run before its next step', async (t) => {
  const stores = createInProcessStores()
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let executed = 0
  const work = defineTool({
    name: 'work',
    description: 'Works',
    input: Type.Object({}),
    async execute() {
      executed++
      begun.resolve()
      await gate.promise
      return 'worked'
    }
  })
  const { agent, calls } = calling(work)
  const first = createRunEngine({ stores, drainTimeout: LONG })
  const run = await first.start(agent, 'Hi')
  run.result().catch(() => {})
  await begun.promise
  const drained = first.drain()
  let isDrained = false
  void drained.then(() => (isDrained = true))
  await setImmediate()
  t.equal(isDrained, false)
  gate.resolve()
  await drained
  t.equal(calls.length, 1, 'no further step has begun')
  await first.close()
  const second = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => second.close())
  const parts = await finish(second, agent, run.runId)
  t.equal(calls.length, 2)
  t.equal(executed, 1)
  t.same(
    parts.filter(({ type }) => type === 'step.start').map((part) => 'attempt' in part && part.attempt),
    [1, 1],
    'nothing is void'
  )
  t.match(await second.get(run.runId), { status: 'completed', result: { text: 'done' } })
})

t.test('a run that waits for an approval is left at once, also by a drain of its next process', async (t) => {
  const stores = createInProcessStores()
  const { agent, calls } = calling(pay)
  let runId = ''
  for (const process of [1, 2]) {
    const engine = createRunEngine({ stores, drainTimeout: LONG })
    if (process === 1) {
      const run = await engine.start(agent, 'Hi')
      run.result().catch(() => {})
      runId = run.runId
    } else {
      await engine.recover()
      await engine.resume(agent)
    }
    for await (const part of engine.parts(runId)) if (part.type === 'tool.approval.request') break
    await engine.close()
  }
  const last = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => last.close())
  const finished = finish(last, agent, runId)
  await last.answer(`${runId}.1`, { approved: true })
  const parts = await finished
  t.equal(calls.length, 2)
  t.equal(parts.filter(({ type }) => type === 'tool.approval.request').length, 1)
  t.match(await last.get(runId), { status: 'completed', result: { toolCalls: [{ result: 'paid' }] } })
})

t.test('an agent without durability, or whose client cancels it, ends as interrupted', async (t) => {
  for (const [durable, onDisconnect] of [
    [false, 'continue'],
    [true, 'cancel']
  ] as const) {
    const model = scriptedModel({ hangs: 'call' })
    const agent = new Agent({ name: 'agent', register: false, model, durable })
    const stores = createInProcessStores()
    const engine = createRunEngine({ stores, drainTimeout: 0 })
    const run = await engine.start(agent, 'Hi', { onDisconnect })
    const result = run.result()
    result.catch(() => {})
    t.equal(await stores.checkpoints.load(run.runId), undefined)
    await engine.close()
    await t.rejects(result, { code: 'RUN_ERR_INTERRUPTED' })
  }
})
