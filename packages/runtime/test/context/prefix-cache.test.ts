import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { createInProcessStores, createRunEngine } from '@svc/registry'
import { Agent, defineSkill, defineTool, type AgentOptions } from '@svc/runtime'
import { prefixCacheModel, type OverflowProvider, type PrefixCacheModel } from '@svc/testing'
import t, { type Test } from 'tap'

const TURNS = 12
const STEPS = 25
const look = defineTool({
  name: 'look',
  description: 'Looks something up',
  input: Type.Object({ at: Type.Integer() }),
  execute: ({ at }) => `What stands at ${at}: ${'words '.repeat(20)}`
})

// A third of the turns makes 25 calls, one a step: more blocks than a provider looks back from a mark.
function answer({ prompt }: { prompt: LanguageModelV4Prompt }) {
  const asked = prompt.findLastIndex(({ role }) => role === 'user')
  const [first] = prompt[asked]!.content as { text: string }[]
  const steps = prompt.length - 1 - asked
  const calls = Number(first?.text.split(' ')[1]) % 3 === 0 ? STEPS : 0
  return steps < 2 * calls
    ? { toolCalls: [{ toolName: 'look', args: { at: steps } }] }
    : { text: `This is the answer to ${first?.text}.` }
}

/** The share of prompt tokens from the cache, from turn 2 on. */
async function shareOf(t: Test, model: PrefixCacheModel, options: Partial<AgentOptions> = {}) {
  let now = 0
  const agent = new Agent({
    name: 'tester',
    register: false,
    model,
    instructions: 'You answer in one sentence, and never guess. '.repeat(120),
    situation: () => `It is second ${++now}.`,
    memory: { retrieve: (_context, input) => `Asked before: ${input} ${++now}`, store: () => [] },
    skills: [defineSkill({ name: 'minutes', description: 'Writes minutes', instructions: 'Short.' })],
    tools: [look],
    history: { maxMessages: 10_000 },
    maxSteps: STEPS + 1,
    ...options
  })
  const engine = createRunEngine({ stores: createInProcessStores() })
  t.teardown(() => engine.close())
  let first = 0
  for (let turn = 1; turn <= TURNS; turn++) {
    await (await engine.start(agent, `Turn ${turn}`, { sessionId: 's' })).result()
    if (turn === 1) first = model.calls.length
  }
  const calls = model.calls.slice(first)
  t.equal(calls.length, 4 * (STEPS + 1) + TURNS - 5)
  const sum = (key: 'promptTokens' | 'cachedTokens') => calls.reduce((total, call) => total + call[key], 0)
  return sum('cachedTokens') / sum('promptTokens')
}

for (const provider of ['anthropic', 'amazon-bedrock', 'openai', 'google'] satisfies OverflowProvider[])
  t.test(`${provider}: at least 90 % of prompt tokens come from the cache from turn 2 on`, async (t) => {
    const model = prefixCacheModel({ provider, answer })
    const share = await shareOf(t, model)
    t.ok(share >= 0.9, `${share}`)
    t.equal(model.refusedMarks, 0)
    t.ok(model.calls.every(({ marks }) => marks <= 4))
  })

t.test('what differs from turn to turn in the instructions, or no marks, cost the cache', async (t) => {
  let turn = 0
  const instructions = () =>
    `It is turn ${++turn}. ${'You answer in one sentence, and never guess. '.repeat(120)}`
  const varying = await shareOf(t, prefixCacheModel({ answer }), { instructions })
  const steady = await shareOf(t, prefixCacheModel({ answer }))
  t.ok(varying < steady, `${varying} < ${steady}`)
  t.equal(await shareOf(t, prefixCacheModel({ answer }), { cache: false }), 0)
})
