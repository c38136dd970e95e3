import { createRunEngine, type NumberedPart, type Run } from '@svc/registry'
import { Type } from '@sinclair/typebox'
import { Agent, defineTool, guard } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import t, { type Test } from 'tap'

// The timers of engines do not keep the process alive.
const timer = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(timer))

const asked = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt.flatMap(({ role, content }) =>
    role === 'user' ? content.map((part) => (part.type === 'text' ? part.text : part.type)) : []
  )

const policy = guard({
  name: 'policy',
  on: ['input'],
  check({ text }) {
    if (text.includes('bomb')) return { action: 'block', reason: 'Not here' }
    return text.includes('4111') ? { action: 'replace', text: text.replace('4111', '[card]') } : undefined
  }
})

/** A run whose first step calls a tool, which ends when the gate opens. */
async function startWork(t: Test) {
  const gate = Promise.withResolvers<void>()
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Done' : { toolCalls: [{ toolName: 'wait', args: {} }] }
  )
  const execute = () => gate.promise.then(() => 'waited')
  const tools = [defineTool({ name: 'wait', description: 'w', input: Type.Object({}), execute })]
  const agent = new Agent({ name: 'desk', model, tools, register: false, use: [policy] })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'work', { sessionId: 's' })
  for await (const part of run.parts()) if (part.type === 'tool.call') break
  return { engine, agent, model, run, open: gate.resolve }
}

async function guardsOf(run: Run): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) if (part.type === 'guard') parts.push(part)
  return parts
}

t.test('a message that joins is checked: it may be dropped or changed, and the run goes on', async (t) => {
  const { engine, agent, model, run, open } = await startWork(t)
  for (const message of ['a bomb', 'card 4111', 'fine']) t.ok(await engine.steer(run.runId, message))
  open()
  t.equal((await run.result()).text, 'Done')
  t.same(asked(model.calls[1]!), ['work', 'card [card]', 'fine'])
  t.match(await guardsOf(run), [
    { name: 'policy', on: 'input', action: 'block', reason: 'Not here' },
    { name: 'policy', on: 'input', action: 'replace' }
  ])
  const next = await engine.start(agent, 'next', { sessionId: 's' })
  await next.result()
  t.same(asked(model.calls.at(-1)!), ['work', 'card [card]', 'fine', 'next'])
})

t.test('no step follows for messages that are dropped', async (t) => {
  const answering = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const model = scriptedModel('Done')
  const { doStream } = model
  model.doStream = async (call) => {
    answering.resolve()
    await gate.promise
    return doStream.call(model, call)
  }
  const agent = new Agent({ name: 'desk', model, register: false, use: [policy] })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'one', { sessionId: 's' })
  await answering.promise
  t.ok(await engine.steer(run.runId, 'a bomb'))
  gate.resolve()
  t.equal((await run.result()).text, 'Done')
  t.equal(model.calls.length, 1)
  t.match(await guardsOf(run), [{ action: 'block' }])
})

t.test('a step follows for a message that passes while the model answers', async (t) => {
  const answering = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const model = scriptedModel((call) => `Answer to ${asked(call).at(-1)}`)
  const { doStream } = model
  model.doStream = async (call) => {
    answering.resolve()
    await gate.promise
    return doStream.call(model, call)
  }
  const agent = new Agent({ name: 'desk', model, register: false, use: [policy] })
  const engine = createRunEngine({ drainTimeout: 0 })
  t.teardown(() => engine.close())
  const run = await engine.start(agent, 'one', { sessionId: 's' })
  await answering.promise
  for (const message of ['a bomb', 'two']) t.ok(await engine.steer(run.runId, message))
  gate.resolve()
  await run.result()
  t.same(model.calls.map(asked), [['one'], ['one', 'two']])
})
