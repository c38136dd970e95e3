import { isDeepStrictEqual } from 'node:util'
import type { NumberedPart } from '@svc/contract'
import { createInProcessStores } from '@svc/registry'
import type { OverflowProvider } from '@svc/testing'
import t from 'tap'
import {
  ask,
  engineFor,
  factsIn,
  faultsIn,
  jsonOf,
  listener,
  look,
  make,
  messagesOf
} from '../helpers/listener.ts'

const toJson = (value: unknown) => JSON.stringify(value)

t.test('a session fits at any length, and its prompts have what was said', async (t) => {
  const { model, prompts, summaries } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const agent = make(model)
  const said: string[] = []
  for (let turn = 1; turn <= 40; turn++) {
    said.push(`FACT-${turn} ${'words '.repeat(1_200)}`)
    await ask(engine, agent, said.at(-1)!)
    t.strictSame(factsIn(jsonOf(prompts.at(-1)!)).length, turn, `turn ${turn}`)
  }
  t.equal(model.overflows, 0)
  t.equal(model.refusedMarks, 0)
  t.ok(summaries.length >= 4 && summaries.length <= 15, `${summaries.length} summaries`)
  t.strictSame(prompts.flatMap(faultsIn), [])
  const messages = messagesOf(stores)
  const kept = messages.flatMap((message) => (message.role === 'user' ? [message.content] : []))
  t.strictSame(kept, said, 'the session has every message as it was')
  t.equal(messages.filter(({ role }) => role === 'summary').length, summaries.length)
})

t.test('a run of many calls fits, and the next turn goes on from its summary', async (t) => {
  const { model, prompts, summaries } = listener()
  const stores = createInProcessStores()
  const engine = engineFor(t, stores)
  const agent = make(model, { tools: [look(6_000)] })
  await ask(engine, agent, 'FACT-1 is said first.')
  const { result, parts, compactions } = await ask(engine, agent, 'FACT-2 CALLS-60')
  t.equal(result.text, 'Noted.')
  t.equal(model.overflows, 0)
  t.ok(compactions.length > 0, `${compactions.length} compactions`)
  t.strictSame(prompts.flatMap(faultsIn), [])
  for (const compaction of compactions) {
    t.ok(compaction.after < compaction.before, `${compaction.before} to ${compaction.after}`)
    const next = parts[parts.indexOf(compaction) + 1]
    t.match(next, { type: 'step.start', index: compaction.index })
  }
  const results = parts.filter((part) => part.type === 'tool.result')
  t.ok(results.length === 60 && results.every((part) => String(part.result).length > 6_000))
  const stored = messagesOf(stores).flatMap((message) => (message.role === 'tool' ? [message.result] : []))
  t.strictSame(
    stored,
    results.map((part) => part.result),
    'results in the session are whole'
  )
  t.ok(
    prompts.slice(1).every((prompt) => jsonOf(prompt).includes('FACT-2 CALLS-60')),
    'the question is in every prompt'
  )
  if (summaries.length > 0) t.match(jsonOf(prompts.at(-1)!), 'FACT-1', 'and what was said before it')
  const last = prompts.at(-1)!
  await ask(engine, agent, 'And now?')
  const bytes = jsonOf(prompts.at(-1)!).length
  t.ok(
    bytes < jsonOf(last).length + 1_000,
    `the next turn begins with ${bytes} bytes, not with ${60 * 6_000}`
  )
  t.strictSame(factsIn(jsonOf(prompts.at(-1)!)), factsIn(jsonOf(last)))
})

t.test('usage and parts of a run have what its summaries cost', async (t) => {
  const { model } = listener()
  const engine = engineFor(t)
  const agent = make(model, { tools: [look(20_000)] })
  const { result, parts, compactions } = await ask(engine, agent, 'CALLS-40')
  const sum = (of: readonly NumberedPart[]) =>
    of.reduce((total, part) => total + ('usage' in part ? (part.usage?.promptTokens ?? 0) : 0), 0)
  const own = parts.filter(({ type }) => type === 'step' || type === 'compaction')
  t.ok(sum(compactions) > 0)
  t.equal(result.usage.promptTokens, sum(own))
  t.match(
    compactions.find(({ text }) => text !== undefined),
    { model: { modelId: 'anthropic-model' } }
  )
})

t.test('what a compaction leaves out is what later turns leave out', async (t) => {
  const { model, prompts } = listener({ window: 8_000 })
  const engine = engineFor(t)
  const agent = make(model, {
    tools: [look(3_000)],
    cache: false,
    history: { window: 8_000, compact: { keep: 6, maxSummary: 256 } }
  })
  let compared = 0
  let last: string[] = []
  for (let turn = 1; turn <= 24; turn++) {
    const from = prompts.length
    const calls = turn % 4 === 0 ? `CALLS-${turn + 8}` : ''
    const { compactions } = await ask(engine, agent, `FACT-${turn} ${'words '.repeat(300)} ${calls}`)
    const [first, newest] = [prompts[from]!, prompts.at(-1)!].map((prompt) => prompt.map(toJson))
    if (last.length > 0 && !compactions.some(({ index }) => index === 0)) {
      // The question of a run whose first steps are gone stays in its own prompts only.
      const begin = turn % 4 === 1 ? 1 : 0
      t.ok(
        isDeepStrictEqual(first!.slice(begin, last.length), last.slice(begin)),
        `turn ${turn} goes on from the last one`
      )
      compared++
    }
    last = newest!
  }
  t.ok(compared >= 12, `${compared} turns`)
})

t.test('a prompt is compacted once after it was refused: a second refusal fails the run', async (t) => {
  // It does not tell its window, which a third or fourth prompt would fit.
  const { model, prompts } = listener({ window: 1_500, provider: 'amazon-bedrock' })
  const writer = listener()
  const engine = engineFor(t)
  const agent = make(model, { history: { compact: { model: writer.model, maxSummary: 256 } } })
  const messages = Array.from({ length: 40 }, (_, at) =>
    at % 2 === 0
      ? ({ role: 'user', content: `FACT-${at} ${'words '.repeat(150)}` } as const)
      : ({ role: 'assistant', text: 'Noted.' } as const)
  )
  const run = await engine.start(agent, 'And now?', { messages })
  await t.rejects(run.result(), { code: 'RUN_ERR_CONTEXT_OVERFLOW' })
  t.equal(model.overflows, 2)
  t.equal(prompts.length, 0)
  t.equal(writer.summaries.length, 1)
  const types: string[] = []
  for await (const part of engine.parts(run.runId)) if (part.type !== 'data') types.push(part.type)
  t.strictSame(types, ['start', 'step.start', 'compaction', 'step.start', 'error'])
})

t.test(
  'a summary is a model call of its own: events, retries, and tokens also of calls that fail',
  async (t) => {
    let failures = 1
    const { model, summaries } = listener({
      window: 8_000,
      summarise() {
        if (failures-- > 0) throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
        return { text: 'Known: nothing.' }
      }
    })
    const engine = engineFor(t)
    const calls: (string | undefined)[] = []
    const failed: object[] = []
    engine.events.on('model.call', ({ step, attempt, purpose }) =>
      calls.push(`${step} ${attempt} ${purpose ?? 'model'}`)
    )
    engine.events.on('model.error', ({ purpose, error }) => failed.push({ purpose, code: error.code }))
    const agent = make(model, {
      history: { window: 8_000, compact: { maxSummary: 256 } },
      retry: { baseDelay: 0 }
    })
    let compaction: Awaited<ReturnType<typeof ask>>['compactions'][number] | undefined
    while (compaction === undefined) {
      calls.length = 0
      const asked = await ask(engine, agent, 'words '.repeat(500))
      compaction = asked.compactions[0]
      if (compaction !== undefined) {
        const types = asked.parts.map(({ type }) => type)
        t.equal(types.filter((type) => type === 'step.start').length, 1, 'the summary is no step')
      }
    }
    t.strictSame(calls, ['0 1 memory', '0 2 memory', '0 1 model'])
    t.strictSame(failed, [{ purpose: 'memory', code: 'RUN_ERR_MODEL_UNREACHABLE' }])
    t.equal(summaries.length, 2)
    t.match(compaction, { text: 'Known: nothing.', usage: { promptTokens: Number } })
  }
)

for (const provider of [
  'anthropic',
  'openai',
  'google',
  'amazon-bedrock',
  'mistral',
  'vllm'
] satisfies OverflowProvider[])
  t.test(`${provider}: a prompt that is refused is compacted, and sent again`, async (t) => {
    const { model, prompts } = listener({ window: 8_000, provider })
    const engine = engineFor(t)
    // The agent does not know how small the window is.
    const agent = make(model, { history: {} })
    for (let turn = 1; turn <= 4; turn++) {
      const { parts, compactions } = await ask(engine, agent, `FACT-${turn} ${'words '.repeat(1_500)}`)
      const starts = parts.filter((part) => part.type === 'step.start')
      const isRefused = compactions.some(({ reason }) => reason === 'overflow')
      t.strictSame(
        starts.map(({ attempt }) => attempt),
        isRefused ? [1, 2] : [1]
      )
    }
    t.equal(model.overflows, 1, 'refused once')
    t.equal(factsIn(jsonOf(prompts.at(-1)!)).length, 4)
  })
