import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import type { NumberedPart, SessionMessage } from '@svc/contract'
import { createInProcessStores, createRunEngine, type Runnable } from '@svc/registry'
import { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { prefixCacheModel } from '@svc/testing'
import t, { type Test } from 'tap'

const WINDOW = 32_000
const isSummary = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt[0]?.role === 'system' && prompt[0].content.startsWith('You keep the summary')

const textOf = (prompt: LanguageModelV4Prompt) => JSON.stringify(prompt)
const factsIn = (text: string) => [...new Set(text.match(/FACT-\d+/g))]

/** A model that calls `look` as often as the question says, and summarises by the facts that it finds. */
function listener(window = WINDOW) {
  const prompts: LanguageModelV4Prompt[] = []
  const summaries: LanguageModelV4Prompt[] = []
  const model = prefixCacheModel({
    window,
    answer(options) {
      const { prompt } = options
      if (isSummary(options)) {
        summaries.push(prompt)
        return { text: `Known: ${factsIn(textOf(prompt)).join(' ')}` }
      }
      prompts.push(prompt)
      const asked = prompt.findLastIndex(({ role }) => role === 'user')
      const calls = Number(/CALLS-(\d+)/.exec(textOf([prompt[asked]!]))?.[1] ?? 0)
      const steps = prompt.slice(asked).filter(({ role }) => role === 'tool').length
      return steps < calls
        ? { toolCalls: [{ toolName: 'look', args: { at: prompts.length } }] }
        : { text: 'Noted.' }
    }
  })
  return { model, prompts, summaries }
}

const engineFor = (t: Test) => {
  const engine = createRunEngine({ stores: createInProcessStores() })
  t.teardown(() => engine.close())
  return engine
}

async function partsOf(engine: ReturnType<typeof engineFor>, agent: Runnable, input: string, sessionId = 's') {
  const run = await engine.start(agent, input, { sessionId })
  const parts: NumberedPart[] = []
  for await (const part of run.parts()) parts.push(part)
  return parts
}

t.test('a session of any length fits, and its summary has what was said', async (t) => {
  const { model, prompts, summaries } = listener()
  const engine = engineFor(t)
  const agent = new Agent({ name: 'a', register: false, model, history: { window: WINDOW } })
  const said: string[] = []
  for (let turn = 1; turn <= 40; turn++) {
    const input = `FACT-${turn} ${'words '.repeat(1_200)}`
    said.push(input)
    await (await engine.start(agent, input, { sessionId: 's' })).result()
  }
  t.equal(model.overflows, 0)
  t.ok(summaries.length >= 2, `${summaries.length} summaries`)
  t.same(factsIn(textOf(prompts.at(-1)!)).length, 40, 'every fact is in the last prompt')
})
