import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { createInProcessStores } from '@svc/registry'
import { Agent, defineTool, type HistoryOptions } from '@svc/runtime'
import type { PrefixCacheAnswer } from '@svc/testing'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { cutResult } from '../../src/context/cut-results.ts'
import {
  ask,
  engineFor,
  faultsIn,
  jsonOf,
  key,
  listener,
  look,
  make,
  messagesOf
} from '../helpers/listener.ts'

const WINDOW = 8_000
const LONG = 'words '.repeat(1_500)
const history = (options: HistoryOptions = {}) => ({ history: { window: WINDOW, ...options } })

t.test('options out of their bounds are refused at creation', async (t) => {
  const { model } = listener()
  const bad = [
    { window: 1_023 },
    { window: NaN },
    { compact: true },
    ...[0, 0.05, 0.96, 2, NaN].map((at) => ({ compact: { at } })),
    { compact: { keep: 1 } },
    { compact: { maxSummary: 255 } },
    { compact: { maxSummary: 16_385 } },
    { compact: { toolResults: 'none' } },
    { compact: { wrong: 1 } },
    { maxTokens: -1 },
    { maxMessages: -1 },
    { countTokens: 3 }
  ] as object[]
  for (const each of bad)
    t.throws(() => make(model, { history: each }), { code: 'RUN_ERR_BAD_AGENT' }, JSON.stringify(each))
  const engine = engineFor(t)
  for (const compactAt of [999, 1.5, NaN, '2000' as never])
    await t.rejects(engine.start(make(model), 'Hi', { compactAt }), { code: 'RUN_ERR_BAD_INPUT' })
})

t.test('compactAt of a start lowers the threshold, and never raises it', async (t) => {
  const { model, prompts } = listener()
  const engine = engineFor(t)
  const agent = make(model, { history: { window: 100_000 } })
  for (let turn = 0; turn < 3; turn++) await ask(engine, agent, LONG)
  const { compactions } = await ask(engine, agent, 'FACT-1', { compactAt: 2_000 })
  t.match(compactions, [{ reason: 'size', index: 0 }])
  t.ok(jsonOf(prompts.at(-1)!).length < 8_000)
  const other = make(model, history())
  const high = await ask(engine, other, LONG.repeat(3), { sessionId: 'high' })
  t.equal(high.compactions.length, 0)
  t.equal(
    (await ask(engine, other, 'And?', { sessionId: 'high', compactAt: 1_000_000 })).compactions.length,
    1
  )
})

const counts: Record<string, () => number> = {
  throws: () => {
    throw new Error('no count')
  },
  'gives -1': () => -1,
  'gives NaN': () => NaN,
  'gives a text': () => '12' as never
}
for (const [name, countTokens] of Object.entries(counts))
  t.test(`a countTokens that ${name} counts bytes`, async (t) => {
    const { model } = listener({ window: WINDOW })
    const engine = engineFor(t)
    const agent = make(model, history({ countTokens }))
    for (let turn = 0; turn < 6; turn++) t.equal((await ask(engine, agent, LONG)).result.text, 'Noted.')
    t.equal(model.overflows, 0)
  })

t.test(
  'a window below the system prompt, and a message larger than the window: the code, and the process lives',
  async (t) => {
    const { model } = listener({ window: 2_000 })
    const engine = engineFor(t)
    const agent = make(model, { history: { window: 2_000 }, instructions: LONG })
    await t.rejects(ask(engine, agent, 'Hi'), { code: 'RUN_ERR_CONTEXT_OVERFLOW' })
    const small = make(model, { history: { window: 2_000 } })
    await ask(engine, small, 'Hi', { sessionId: 'b' })
    await t.rejects(ask(engine, small, LONG, { sessionId: 'b' }), { code: 'RUN_ERR_CONTEXT_OVERFLOW' })
    t.equal((await ask(engine, small, 'Again', { sessionId: 'b' })).result.text, 'Noted.')
  }
)

t.test('with compact: false the first refusal is the code', async (t) => {
  const { model, summaries } = listener({ window: WINDOW })
  const engine = engineFor(t)
  const agent = make(model, history({ compact: false }))
  for (let turn = 0; turn < 2; turn++) await ask(engine, agent, LONG)
  const failing = (async () => {
    for (let turn = 0; turn < 4; turn++) await ask(engine, agent, LONG)
  })()
  await t.rejects(failing, { code: 'RUN_ERR_CONTEXT_OVERFLOW' })
  t.equal(model.overflows, 1)
  t.equal(summaries.length, 0)
})

t.test('10,000 calls in one step stay together', async (t) => {
  let at = 0
  const calls = Array.from({ length: 10_000 }, () => ({ toolName: 'count', args: { at: at++ } }))
  const { model, prompts } = listener({ window: 100_000_000 })
  const many = { ...model, provider: model.provider, modelId: model.modelId }
  const { doStream } = model
  let steps = 0
  many.doStream = async (options) => {
    if (steps++ > 0) return doStream.call(model, options)
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] })
        for (const [index, { toolName, args }] of calls.entries())
          controller.enqueue({
            type: 'tool-call',
            toolCallId: `c${index}`,
            toolName,
            input: JSON.stringify(args)
          })
        controller.enqueue({
          type: 'finish',
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage: {
            inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: 10, text: 10, reasoning: 0 }
          }
        })
        controller.close()
      }
    })
    return { stream: stream as never }
  }
  const count = defineTool({
    name: 'count',
    description: 'Counts',
    input: Type.Object({ at: Type.Integer() }),
    execute: ({ at }) => ({ at })
  })
  const engine = engineFor(t)
  const agent = new Agent({
    name: 'a',
    register: false,
    model: many,
    tools: [count],
    history: { window: WINDOW }
  })
  const { result } = await ask(engine, agent, 'Count')
  t.equal(result.text, 'Noted.')
  t.strictSame(prompts.flatMap(faultsIn), [])
})

t.test('a long result keeps whole characters at both ends', async (t) => {
  for (let shift = 0; shift < 4; shift++) {
    const text = `${'x'.repeat(shift)}${'😀'.repeat(1_000)}`
    const cut = cutResult(text) as string
    t.ok(cut.isWellFormed() && !cut.includes('\ufffd'), `${shift}`)
    t.match(cut, /\[… [\d,]+ bytes left out …\]/)
    t.ok(Buffer.byteLength(cut) < 1_650)
  }
  const large = 'y'.repeat(64 * 1_024 * 1_024)
  t.equal((cutResult({ large }) as string).length < 1_650, true)
  t.equal(cutResult('short'), 'short')
  t.equal(cutResult(undefined), undefined)
})

/** A session that is compacted by this summariser. */
async function summarisedBy(t: Test, summarise: (prompt: LanguageModelV4Prompt) => PrefixCacheAnswer) {
  const { model, prompts, summaries } = listener({ window: WINDOW, summarise })
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const agent = make(model, history({ compact: { maxSummary: 256 } }))
  let compactions: Awaited<ReturnType<typeof ask>>['compactions'] = []
  for (let turn = 0; compactions.length === 0 && turn < 10; turn++)
    ({ compactions } = await ask(engine, agent, `FACT-${turn} ${LONG}`))
  const [compaction] = compactions
  const next = await ask(engine, agent, 'And now?')
  t.equal(next.result.text, 'Noted.')
  t.equal(model.overflows, 0)
  t.strictSame(prompts.flatMap(faultsIn), [])
  return { compaction: compaction!, prompts, summaries, stores }
}

t.test('a summary ends no block, and follows nothing', async (t) => {
  const said = await summarisedBy(t, () => ({ text: '</summary> <Summary>ok</ summary >' }))
  t.equal(said.compaction.text, 'ok')
  const calling = await summarisedBy(t, () => ({ toolCalls: [{ toolName: 'look', args: { at: 1 } }] }))
  t.equal(calling.compaction.text, undefined, 'a summariser that calls tools says nothing')
  const long = await summarisedBy(t, () => ({ text: `😀${'z'.repeat(1_000_000)}` }))
  t.ok(long.compaction.text!.length <= 2_048 && long.compaction.text!.isWellFormed())
})

for (const [name, summarise] of Object.entries({
  'is empty': () => ({ text: ' ' }),
  fails: () => {
    throw new Error('no summary today')
  }
}))
  t.test(`a summary that ${name} leaves the messages out without one`, async (t) => {
    const { compaction, prompts, stores } = await summarisedBy(t, summarise)
    t.equal(compaction.text, undefined)
    // The tokens of a summary that came to nothing count too.
    t.equal(compaction.usage === undefined, name === 'fails')
    t.ok(compaction.messages > 0)
    t.notMatch(jsonOf(prompts.at(-1)!), '<summary>')
    const saved = messagesOf(stores).find(({ role }) => role === 'summary')
    t.match(saved, { role: 'summary', text: undefined, keeps: compaction.keeps })
  })

t.test('a summary that takes over 60 seconds leaves the messages out without one', async (t) => {
  const { model } = listener({ window: WINDOW })
  const slow = { ...model, provider: model.provider, modelId: model.modelId }
  const asked = Promise.withResolvers<void>()
  slow.doStream = async (options) => {
    const [first] = options.prompt
    if (first?.role !== 'system' || !first.content.startsWith('You keep')) return model.doStream(options)
    asked.resolve()
    return new Promise(() => {})
  }
  const engine = engineFor(t)
  const agent = make(slow, history())
  await ask(engine, agent, LONG)
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const second = ask(engine, agent, LONG)
  // What else waits for a moment goes on.
  const until = async (over: Promise<unknown>) => {
    let isOver = false
    void over.then(() => (isOver = true))
    while (!isOver) {
      mock.timers.tick(1)
      await setImmediate()
    }
  }
  await until(asked.promise)
  mock.timers.tick(60_000)
  await until(second)
  const { result, compactions } = await second
  t.equal(result.text, 'Noted.')
  t.match(compactions, [{ text: undefined }])
})

t.test('with record: { input: false } a summary is neither in the log nor in the session', async (t) => {
  const { model, prompts } = listener({ window: WINDOW })
  const stores = createInProcessStores()
  const engine = engineFor(t, stores, { record: { input: false } })
  const agent = make(model, { ...history(), tools: [look(3_000)] })
  const { compactions, parts } = await ask(engine, agent, 'FACT-1 CALLS-12')
  t.ok(compactions.length > 0)
  t.ok(compactions.every(({ text }) => text === undefined))
  t.match(jsonOf(prompts.at(-1)!), '<summary>', 'the model reads it')
  t.notMatch(JSON.stringify(parts), 'Known: ')
  t.notMatch(JSON.stringify(messagesOf(stores)), 'summary')
})

t.test('a summary that keeps more than there is, and one of the caller', async (t) => {
  const { model, prompts } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  await stores.sessions.append(key, 'one', [
    { role: 'user', content: 'FACT-1' },
    { role: 'assistant', text: 'Yes.' },
    { role: 'summary', text: 'FACT-2', keeps: 1_000 }
  ])
  await ask(engine, make(model), 'And?')
  t.match(jsonOf(prompts.at(-1)!), /FACT-2.*FACT-1/)
  const messages = [
    { role: 'summary', text: 'FACT-3', keeps: 0 },
    { role: 'user', content: 'And?' }
  ] as const
  await ask(engine, make(model), undefined, { messages })
  t.match(jsonOf(prompts.at(-1)!), 'FACT-3')
  t.strictSame(prompts.flatMap(faultsIn), [])
  const [summary, user] = messages
  for (const bad of [
    [user, summary],
    [{ ...summary, keeps: 1 }, user],
    [{ ...summary, keeps: -1 }, user]
  ])
    await t.rejects(engine.start(make(model), 'Hi', { messages: bad }), { code: 'RUN_ERR_BAD_INPUT' })
})
