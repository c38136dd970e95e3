import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { createRunEngine, type RunEngine, type Run, type Stores } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'

// The timers of engines do not keep the process alive.
const timer = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(timer))

/** The conversation that a model was given, as short texts. */
function said({ prompt }: LanguageModelV4CallOptions): string[] {
  return prompt.flatMap(({ role, content }) => {
    if (typeof content === 'string') return [`${role}: ${content}`]
    return content.map((part) => {
      if (part.type === 'text') return `${role}: ${part.text}`
      if (part.type === 'tool-call') return `${role} calls ${part.toolCallId}`
      if (part.type === 'tool-result') return `${role} answers ${part.toolCallId} by ${part.output.type}`
      return `${role}: ${part.type}`
    })
  })
}

const textOf = ({ prompt }: LanguageModelV4CallOptions) => JSON.stringify(prompt.at(-1))

/** An agent that is never done with "slow", and whose tool never answers. */
function makeAgent() {
  const model = scriptedModel((call) => {
    const last = textOf(call)
    if (last.includes('slow')) return { text: ['Hel', 'lo'], hangs: 'stream' }
    if (last.includes('tool')) {
      const toolCalls = [
        { toolName: 'quick', args: {}, toolCallId: 'c1' },
        { toolName: 'stuck', args: {}, toolCallId: 'c2' }
      ]
      return { text: 'Wait', toolCalls }
    }
    return 'Done'
  })
  const input = Type.Object({})
  const tools = [
    defineTool({ name: 'quick', description: 'q', input, execute: () => 1 }),
    defineTool({ name: 'stuck', description: 's', input, execute: () => new Promise<never>(() => {}) })
  ]
  return { model, agent: new Agent({ name: 'desk', model, tools, register: false }) }
}

function open(t: Test, agent: Agent, stores?: Stores): RunEngine {
  const engine = createRunEngine({ ...(stores && { stores }), drainTimeout: 0 })
  t.teardown(() => engine.close())
  void engine.resume(agent)
  return engine
}

async function saidUntil(run: Run, type: string, count: number): Promise<void> {
  for await (const part of run.parts()) if (part.type === type && --count === 0) return
}

const places: [string, () => Stores[] | undefined][] = [
  ['in memory', () => undefined],
  [
    'on two nodes',
    () => {
      const cluster = createTestCluster()
      return [cluster.join().stores, cluster.join().stores]
    }
  ]
]
for (const [where, make] of places)
  t.test(where, async (t) => {
    const open2 = (agent: Agent) => {
      const stores = make()
      const first = open(t, agent, stores?.[0])
      return [first, stores === undefined ? first : open(t, agent, stores[1])] as const
    }

    await t.test('interrupt keeps what was said', async (t) => {
      const { agent, model } = makeAgent()
      const [first, second] = open2(agent)
      const slow = await first.start(agent, 'slow', { sessionId: 's' })
      await saidUntil(slow, 'text', 2)
      const next = await second.start(agent, 'next', { sessionId: 's', whenBusy: 'interrupt' })
      t.equal((await next.result()).text, 'Done')
      t.match(await slow.result(), { finishReason: 'canceled', text: 'Hello' })
      t.same(said(model.calls.at(-1)!), ['user: slow', 'assistant: Hello [interrupted here]', 'user: next'])
      t.match(await second.find(slow.runId), { status: 'canceled' })
    })

    await t.test('a call that is under way has an outcome for the next model', async (t) => {
      const { agent, model } = makeAgent()
      const [first, second] = open2(agent)
      const stuck = await first.start(agent, 'tool', { sessionId: 's' })
      await saidUntil(stuck, 'tool.result', 1)
      const next = await second.start(agent, 'next', { sessionId: 's', whenBusy: 'interrupt' })
      await next.result()
      t.same(said(model.calls.at(-1)!), [
        'user: tool',
        'assistant: Wait',
        'assistant calls c1',
        'assistant calls c2',
        'tool answers c1 by json',
        'tool answers c2 by error-text',
        'assistant: [interrupted here]',
        'user: next'
      ])
    })

    await t.test('replace leaves nothing in the session, but the record and the log', async (t) => {
      const { agent, model } = makeAgent()
      const [first, second] = open2(agent)
      const slow = await first.start(agent, 'slow', { sessionId: 's' })
      await saidUntil(slow, 'text', 2)
      const next = await second.start(agent, 'next', { sessionId: 's', whenBusy: 'replace' })
      await next.result()
      t.same(said(model.calls.at(-1)!), ['user: next'])
      t.match(await second.get(slow.runId), { status: 'canceled', result: { text: 'Hello' } })
    })

    await t.test('messages that were accepted before come first', async (t) => {
      const { agent, model } = makeAgent()
      const [first, second] = open2(agent)
      const slow = await first.start(agent, 'slow', { sessionId: 's' })
      await saidUntil(slow, 'text', 2)
      const before = await second.start(agent, 'before', { sessionId: 's' })
      const last = await first.start(agent, 'last', { sessionId: 's', whenBusy: 'interrupt' })
      await last.result()
      t.equal((await before.result()).text, 'Done')
      t.same(said(model.calls.at(-1)!), [
        'user: slow',
        'assistant: Hello [interrupted here]',
        'user: before',
        'assistant: Done',
        'user: last'
      ])
    })

    await t.test('a session that is not busy, and messages to it at once', async (t) => {
      const { agent } = makeAgent()
      const [first, second] = open2(agent)
      const ways = ['interrupt', 'replace', 'queue', 'interrupt'] as const
      const runs = await Promise.all(
        ways.map((whenBusy, index) =>
          (index % 2 === 0 ? first : second).start(agent, `message ${index}`, { sessionId: 's', whenBusy })
        )
      )
      for (const run of runs) t.match((await run.result()).finishReason, /stop|canceled/)
    })
  })

t.test('what a dead node left is canceled as the message asks', async (t) => {
  for (const keep of [true, false]) {
    const { agent, model } = makeAgent()
    const cluster = createTestCluster()
    const [one, two] = [cluster.join(), cluster.join()]
    const [first, second] = [open(t, agent, one.stores), open(t, agent, two.stores)]
    const slow = await first.start(agent, 'slow', { sessionId: 's' })
    await saidUntil(slow, 'text', 2)
    // The node that asks for the cancel dies, too, before anything else happens.
    await two.stores.runs.requestCancel(slow.runId, { owner: 'anonymous', keep })
    one.loseContact()
    one.declareDead()
    await second.recover()
    const next = await second.start(agent, 'next', { sessionId: 's' })
    await next.result()
    t.match(await second.find(slow.runId), { status: 'canceled' })
    const kept = keep ? ['user: slow', 'assistant: Hello [interrupted here]'] : []
    t.same(said(model.calls.at(-1)!), [...kept, 'user: next'])
  }
})
