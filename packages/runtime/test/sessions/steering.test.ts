import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createRunEngine, type NumberedPart, type Run, type RunEngine, type Stores } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { survive } from '../helpers/crashing.ts'

// The timers of engines do not keep the process alive.
const timer = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(timer))

/** What users said, as a model was given it. */
function asked({ prompt }: LanguageModelV4CallOptions): string[] {
  return prompt.flatMap(({ role, content }) =>
    role === 'user' ? content.map((part) => (part.type === 'text' ? part.text : part.type)) : []
  )
}

/** An agent whose first step calls a tool, which ends when the gate opens; any other step answers. */
function makeAgent(maxSteps = 10) {
  const gate = Promise.withResolvers<void>()
  const model = scriptedModel((call) => {
    const isFirst = !call.prompt.some(({ role }) => role === 'tool')
    return isFirst && asked(call)[0] === 'work' ? { toolCalls: [{ toolName: 'wait', args: {} }] } : 'Done'
  })
  const execute = () => gate.promise.then(() => 'waited')
  const tools = [defineTool({ name: 'wait', description: 'w', input: Type.Object({}), execute })]
  const agent = new Agent({ name: 'desk', model, tools, maxSteps, register: false })
  return { model, agent, open: gate.resolve }
}

function engineOf(t: Test, agent: Agent, stores?: Stores): RunEngine {
  const engine = createRunEngine({ ...(stores && { stores }), drainTimeout: 0 })
  t.teardown(() => engine.close())
  void engine.resume(agent)
  return engine
}

async function until(run: Run, type: string): Promise<void> {
  for await (const part of run.parts()) if (part.type === type) return
}

async function partsOf(run: Run): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) parts.push(part)
  return parts
}

const startKey = { key: 'k', hash: 'h' }

for (const where of ['in memory', 'on two nodes'])
  t.test(where, async (t) => {
    const start = async (t: Test, maxSteps?: number) => {
      const made = makeAgent(maxSteps)
      const cluster = where === 'in memory' ? undefined : createTestCluster()
      const first = engineOf(t, made.agent, cluster?.join().stores)
      const second = cluster === undefined ? first : engineOf(t, made.agent, cluster.join().stores)
      const run = await first.start(made.agent, 'work', { sessionId: 's' })
      const send = (input: unknown, more = {}) =>
        second.start(made.agent, input, { sessionId: 's', whenBusy: 'steer', ...more })
      return { ...made, first, second, run, send }
    }

    await t.test('messages join the run before its next model call', async (t) => {
      const { run, send, model, open, agent, second } = await start(t)
      await until(run, 'tool.call')
      const joined = [await send('one'), await send([{ type: 'text', text: 'two' }])]
      for (const each of joined) t.match(each, { joined: true, replayed: false, runId: run.runId })
      open()
      t.equal((await joined[0]!.result()).text, 'Done')
      t.same(asked(model.calls[1]!), ['work', 'one', 'two'])
      const parts = (await partsOf(run)).filter(({ type }) => type === 'data')
      t.match(parts, [
        { name: 'steer', value: { message: 'one' } },
        { name: 'steer', value: { message: [{ type: 'text', text: 'two' }] } }
      ])
      const next = await second.start(agent, 'next', { sessionId: 's' })
      await next.result()
      t.same(asked(model.calls.at(-1)!), ['work', 'one', 'two', 'next'], 'and are in the session')
    })

    await t.test('a repeated request joins once, and finds its run later', async (t) => {
      const { run, send, model, open } = await start(t)
      await until(run, 'tool.call')
      const sent = await Promise.all([send('one', { startKey }), send('one', { startKey })])
      for (const each of sent) t.match(each, { joined: true, runId: run.runId })
      await t.rejects(send('other', { startKey: { ...startKey, hash: 'x' } }), { code: 'RUN_ERR_KEY_REUSED' })
      open()
      await run.result()
      t.same(asked(model.calls[1]!), ['work', 'one'])
      t.match(await send('one', { startKey }), { joined: true, runId: run.runId })
      t.equal(model.calls.length, 2)
    })

    await t.test('after the last model call it is a run of its own', async (t) => {
      const { run, send, open, model } = await start(t, 1)
      await until(run, 'tool.call')
      const own = await send('late', { startKey })
      t.match(own, { joined: false, queued: true })
      t.not(own.runId, run.runId)
      open()
      await own.result()
      t.match(await run.result(), { finishReason: 'max-steps' })
      t.match(await send('late', { startKey }), { runId: own.runId, replayed: true, joined: false })
      t.equal(asked(model.calls.at(-1)!).at(-1), 'late')
    })

    await t.test('files, instructions and tools cannot join', async (t) => {
      const { run, send, open, first, agent } = await start(t)
      await until(run, 'tool.call')
      const image = [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }]
      await t.rejects(send(image), { code: 'RUN_ERR_WHEN_BUSY' })
      await t.rejects(send('x', { instructions: 'Be brief' }), { code: 'RUN_ERR_WHEN_BUSY' })
      open()
      await run.result()
      t.equal((await first.list({ limit: 10 })).runs.length, 1)
      const own = await first.start(agent, 'free', { sessionId: 's', whenBusy: 'steer' })
      t.match(own, { joined: false, queued: false }, 'a free session')
      await own.result()
    })
  })

t.test('a request that is sent again while its run begins gets that run', async (t) => {
  const { agent, model, open } = makeAgent()
  const cluster = createTestCluster()
  const first = engineOf(t, agent, cluster.join().stores)
  const { stores } = cluster.join()
  const { runs } = stores
  const findStarted = runs.findStarted.bind(runs)
  const options = { sessionId: 's', whenBusy: 'steer', startKey } as const
  let begun: Run | undefined
  // The first attempt begins its run after the second one has looked for it.
  runs.findStarted = async (record) => {
    const found = await findStarted(record)
    if (begun !== undefined) return found
    begun = await first.start(agent, 'work', options)
    await until(begun, 'tool.call')
    return found
  }
  const second = engineOf(t, agent, stores)
  const again = await second.start(agent, 'work', options)
  t.match(again, { joined: false, replayed: true, runId: begun!.runId })
  open()
  await again.result()
  t.same(asked(model.calls.at(-1)!), ['work'])
})

t.test('what joins while the model answers is answered, too', async (t) => {
  const answering = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const model = scriptedModel((call) => ({ text: `Answer to ${asked(call).at(-1)}` }))
  const { doStream } = model
  model.doStream = async (call) => {
    answering.resolve()
    await gate.promise
    return doStream.call(model, call)
  }
  const agent = new Agent({ name: 'desk', model, maxSteps: 3, register: false })
  const engine = engineOf(t, agent)
  const run = await engine.start(agent, 'one', { sessionId: 's' })
  await answering.promise
  t.ok(await engine.steer(run.runId, 'two'))
  gate.resolve()
  t.match(await run.result(), { text: 'Answer to two', finishReason: 'stop' })
  t.equal(model.calls.length, 2)
  t.equal(
    model.calls[1]!.prompt.filter(({ role }) => role === 'assistant').length,
    1,
    'with its first answer'
  )
  t.notOk(await engine.steer(run.runId, 'three'), 'it has ended')
  await t.rejects(engine.steer('missing', 'x'), { code: 'RUN_ERR_NOT_FOUND' })
})

t.test('an interruption keeps what joined', async (t) => {
  const { agent, model } = makeAgent()
  const engine = engineOf(t, agent)
  const run = await engine.start(agent, 'work', { sessionId: 's' })
  await until(run, 'tool.call')
  t.ok(await engine.steer(run.runId, 'more'))
  const next = await engine.start(agent, 'next', { sessionId: 's', whenBusy: 'interrupt' })
  await next.result()
  t.same(asked(model.calls.at(-1)!), ['work', 'more', 'next'])
})

t.test('a run that dies anywhere reads each message once, at the same step', async (t) => {
  for (let lifetime = 1; lifetime < 16; lifetime++) {
    const calls: LanguageModelV4CallOptions[] = []
    const joined = new Set<string>()
    let runId = ''
    const make = () => {
      const model = scriptedModel((call) => {
        calls.push(call)
        const outcomes = call.prompt.filter(({ role }) => role === 'tool').length
        return outcomes < 2
          ? { text: 'Hm', toolCalls: [{ toolName: 'look', args: {}, toolCallId: `c${outcomes}` }] }
          : 'Done'
      })
      const input = Type.Object({})
      const tools = [
        defineTool({ name: 'look', description: 'l', input, execute: () => 1, idempotent: true })
      ]
      return new Agent({ name: 'desk', model, tools, register: false })
    }
    const { result } = await survive(make, [lifetime], {
      input: 'work',
      onPart: async (engine, part) => {
        if (part.type === 'start') runId = part.runId
        if (part.type !== 'tool.call' && part.type !== 'text') return
        const message = `after part ${part.seq}`
        if (await engine.steer(runId, message, { startKey: { key: message, hash: 'h' } })) joined.add(message)
      }
    })
    t.equal(result?.text, 'Done', `${lifetime}`)
    const last = asked(calls.at(-1)!)
    t.equal(new Set(last).size, last.length, `${lifetime}: none twice`)
    t.same(
      [...joined].filter((message) => !last.includes(message)),
      [],
      `${lifetime}: none lost`
    )
    t.ok(joined.size > 0)
  }
})

t.test('a message to a run whose node has died joins it on the node that takes it over', async (t) => {
  const { agent, model } = makeAgent()
  const cluster = createTestCluster()
  const [one, two] = [cluster.join(), cluster.join()]
  const [first, second] = [engineOf(t, agent, one.stores), engineOf(t, agent, two.stores)]
  const run = await first.start(agent, 'work', { sessionId: 's' })
  await until(run, 'tool.call')
  one.loseContact()
  one.declareDead()
  const sent = ['one', 'one', 'two'].map((message) =>
    second.steer(run.runId, message, { startKey: { key: message, hash: 'h' } })
  )
  await second.recover()
  t.same(await Promise.all(sent), [true, true, true])
  for await (const _ of second.parts(run.runId));
  t.match(await second.get(run.runId), { status: 'completed', epoch: 2 })
  t.same(asked(model.calls.at(-1)!).toSorted(), ['one', 'two', 'work'])
})
