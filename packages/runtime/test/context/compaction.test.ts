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
