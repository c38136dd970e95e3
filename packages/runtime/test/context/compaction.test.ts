import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import type { NumberedPart, PartOf, SessionMessage, Stores } from '@svc/contract'
import { createInProcessStores, createRunEngine, type RunEngine, type Runnable } from '@svc/registry'
import { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { prefixCacheModel, type OverflowProvider } from '@svc/testing'
import t, { type Test } from 'tap'
import { survive, validParts } from '../helpers/crashing.ts'

const WINDOW = 32_000
const isSummary = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt[0]?.role === 'system' && prompt[0].content.startsWith('You keep the summary')
const jsonOf = (prompt: LanguageModelV4Prompt) => JSON.stringify(prompt)
const factsIn = (text: string) => [...new Set(text.match(/FACT-\d+/g))].toSorted()

interface Listener {
  window?: number
  provider?: OverflowProvider
  summarise?: (prompt: LanguageModelV4Prompt) => string
}

/** A model that calls `look` as often as a question says, and whose summaries have the facts that they are made of. */
function listener({
  window = WINDOW,
  provider = 'anthropic',
  summarise = (prompt) => `Known: ${factsIn(jsonOf(prompt)).join(' ')}`
}: Listener = {}) {
  const prompts: LanguageModelV4Prompt[] = []
  const summaries: LanguageModelV4Prompt[] = []
  const model = prefixCacheModel({
    window,
    provider,
    answer(options) {
      const { prompt } = options
      if (isSummary(options)) {
        summaries.push(prompt)
        return { text: summarise(prompt) }
      }
      prompts.push(prompt)
      const asked = prompt.findLast(({ role }) => role === 'user')!
      const calls = Number(/CALLS-(\d+)/.exec(jsonOf([asked]))?.[1] ?? 0)
      const looked = Math.max(0, ...[...jsonOf(prompt).matchAll(/LOOK-(\d+)/g)].map(([, at]) => Number(at)))
      return looked < calls
        ? { toolCalls: [{ toolName: 'look', args: { at: looked + 1 } }] }
        : { text: 'Noted.' }
    }
  })
  return { model, prompts, summaries }
}

/** Calls whose results are missing, results whose calls are, and messages out of order. */
function faultsIn(prompt: LanguageModelV4Prompt): string[] {
  const faults: string[] = []
  let open = new Set<string>()
  for (const [at, { role, content }] of prompt.entries()) {
    if (role === prompt[at - 1]?.role) faults.push(`two messages of ${role} at ${at}`)
    if (role === 'tool')
      for (const part of content)
        if (part.type !== 'tool-result' || !open.delete(part.toolCallId))
          faults.push(`a result without a call at ${at}`)
    if (role === 'tool') continue
    if (open.size > 0) faults.push(`a call without a result before ${at}`)
    open = new Set(
      role === 'assistant'
        ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
        : []
    )
  }
  return faults
}

const look = (bytes: number) =>
  defineTool({
    name: 'look',
    description: 'Looks something up',
    input: Type.Object({ at: Type.Integer() }),
    execute: ({ at }) => `LOOK-${at} FACT-${1_000 + at} ${'words '.repeat(bytes / 6)}`
  })

function engineFor(t: Test, stores: Stores = createInProcessStores()) {
  const engine = createRunEngine({ stores })
  t.teardown(() => engine.close())
  return engine
}

async function ask(engine: RunEngine, agent: Runnable, input: string, options: object = {}) {
  const run = await engine.start(agent, input, { sessionId: 's', ...options })
  const result = await run.result()
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(run.runId)) parts.push(part)
  const compactions = parts.filter((part) => part.type === 'compaction')
  return { result, parts, compactions, runId: run.runId }
}

const make = (model: AgentOptions['model'], options: Partial<AgentOptions> = {}) =>
  new Agent({ name: 'a', register: false, model, history: { window: WINDOW }, maxSteps: 500, ...options })

const keyOf = { registry: 'default', owner: 'anonymous', kind: 'agent', name: 'a', sessionId: 's' } as const

const messagesOf = (stores: Stores): SessionMessage[] =>
  stores.sessions.load(keyOf, 100_000) as SessionMessage[]

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
    prompts.every((prompt) => jsonOf(prompt).includes('FACT-2 CALLS-60')),
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
      t.equal(compactions.length, model.overflows === 0 || turn < 4 ? compactions.length : 1)
      const starts = parts.filter((part) => part.type === 'step.start')
      for (const { reason } of compactions.filter((part) => part.reason === 'overflow')) {
        t.equal(reason, 'overflow')
        t.strictSame(
          starts.map(({ attempt }) => attempt),
          [1, 2]
        )
      }
    }
    t.equal(model.overflows, 1, 'refused once')
    t.equal(factsIn(jsonOf(prompts.at(-1)!)).length, 4)
  })
