import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { addUsage, type Usage } from '@svc/registry'
import { Agent, defineTool, Team, type Model } from '@svc/runtime'
import t from 'tap'
import { anthropic } from '../fixtures/recorded/anthropic.ts'
import { google } from '../fixtures/recorded/google.ts'
import { openAIChat as chat } from '../fixtures/recorded/openai-chat.ts'
import { openAIResponses as responses } from '../fixtures/recorded/openai-responses.ts'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { startProviderServer, type Answer } from '../helpers/provider-server.ts'

interface Recorded {
  readonly answers: {
    callsTool(name: string, args: object): Answer
    says(text: string): Answer
    saysPlainly(text: string): Answer
  }
  readonly model: (origin: string) => Model
  /** As the answer has it; undefined if the provider's package does not pass it on. */
  readonly modelId?: string
  /** Of the answer that calls a tool, of the one that says something, and of the one without details. */
  readonly called: Usage
  readonly said: Usage
  readonly plain: Usage
}

const apiKey = 'sk-test-4711aB'
const usage = (promptTokens: number, completionTokens: number, details: Partial<Usage> = {}): Usage => ({
  promptTokens,
  completionTokens,
  totalTokens: promptTokens + completionTokens,
  ...details
})

const providers: Record<string, Recorded> = {
  'openai, chat completions': {
    answers: chat,
    model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey }).chat('gpt-5-mini'),
    modelId: 'gpt-5-mini-2025-08-07',
    called: usage(2_006, 300, { cachedPromptTokens: 1_920, reasoningTokens: 192 }),
    said: usage(30, 12, { cachedPromptTokens: 0, reasoningTokens: 0 }),
    plain: usage(30, 12)
  },
  'openai, responses': {
    answers: responses,
    model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey })('gpt-5-mini'),
    modelId: 'gpt-5-mini-2025-08-07',
    called: usage(1_500, 120, { cachedPromptTokens: 1_408, cacheWriteTokens: 64, reasoningTokens: 64 }),
    said: usage(50, 8, { cachedPromptTokens: 0, reasoningTokens: 0 }),
    plain: usage(50, 8)
  },
  anthropic: {
    answers: anthropic,
    model: (origin) => createAnthropic({ baseURL: `${origin}/v1`, apiKey })('claude-sonnet-4-5'),
    modelId: 'claude-sonnet-4-5-20250929',
    called: usage(2_060, 90, { cachedPromptTokens: 1_800, cacheWriteTokens: 248, reasoningTokens: 31 }),
    said: usage(2_068, 15, { cachedPromptTokens: 2_048, cacheWriteTokens: 0, reasoningTokens: 0 }),
    plain: usage(20, 15)
  },
  google: {
    answers: google,
    model: (origin) => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })('gemini-2.5-flash'),
    called: usage(2_152, 93, { cachedPromptTokens: 2_027, reasoningTokens: 76 }),
    said: usage(40, 33, { reasoningTokens: 24 }),
    plain: usage(40, 9)
  }
}

const look = defineTool({
  name: 'look',
  description: 'Looks',
  input: Type.Object({ at: Type.String() }),
  execute: () => 'bees'
})

for (const [name, { answers, model, modelId, called, said, plain }] of Object.entries(providers)) {
  t.test(`${name}: usage of each step, and of the run`, async (t) => {
    const { origin } = await startProviderServer(t, [
      answers.callsTool('look', { at: 'x' }),
      answers.says('Bees.')
    ])
    const agent = new Agent({ name: 'a', model: model(origin), tools: [look], register: false })
    const run = await collect(agent.stream('What is there?'))
    t.equal(run.error, undefined)
    t.match(run.ofType('step'), [
      {
        usage: called,
        finishReason: 'tool-calls',
        durationMs: Number,
        firstTokenMs: Number,
        model: modelId && { modelId }
      },
      {
        usage: said,
        finishReason: 'stop',
        durationMs: Number,
        firstTokenMs: Number,
        model: modelId && { modelId }
      }
    ])
    t.strictSame(
      run.ofType('step').map((step) => step.usage),
      [called, said]
    )
    t.strictSame(run.ofType('finish')[0]?.usage, addUsage(called, said))
  })

  t.test(`${name}: what the provider does not report is left out`, async (t) => {
    const { origin } = await startProviderServer(t, [answers.saysPlainly('Bees.')])
    const agent = new Agent({ name: 'a', model: model(origin), register: false })
    t.strictSame((await agent.run('What is there?')).usage, plain)
  })

  t.test(`${name}: summed over the members of a team`, async (t) => {
    const { origin } = await startProviderServer(t, ({ body }) =>
      JSON.stringify(body).includes('plainly') ? answers.saysPlainly('Bees.') : answers.says('Bees.')
    )
    const member = (of: string, instructions: string) =>
      new Agent({ name: of, model: model(origin), instructions, register: false })
    const team = new Team({
      name: 'both',
      mode: 'sequence',
      members: [member('one', 'Answer.'), member('two', 'Answer plainly.')],
      register: false
    })
    t.strictSame((await team.run('What is there?')).usage, addUsage(said, plain))
  })
}

const reported = (
  cacheRead: number | undefined,
  more: Partial<LanguageModelV4Usage> = {}
): LanguageModelV4Usage => ({
  inputTokens: { total: 10, noCache: undefined, cacheRead, cacheWrite: undefined },
  outputTokens: { total: 2, text: undefined, reasoning: undefined },
  ...more
})

t.test('the usage of a failed attempt counts, and its event has it', async (t) => {
  const finish = (unified: 'interrupted' | 'stop', tokens: LanguageModelV4Usage) => ({
    parts: [{ type: 'finish' as const, finishReason: { unified, raw: undefined }, usage: tokens }]
  })
  const { agent } = makeAgent(
    [
      finish('interrupted', reported(4)),
      { rejects: { statusCode: 500 } },
      finish('interrupted', reported(undefined)),
      finish('stop', reported(1))
    ],
    { retry: { attempts: 4, baseDelay: 1 } }
  )
  const { context } = makeContext()
  const events: unknown[] = []
  context.events.on('model.error', (event) => events.push(event.usage))
  context.events.on('model.result', (event) => events.push(event.usage))
  const run = await collect(agent.stream('Hi', context))
  const sum = usage(30, 6, { cachedPromptTokens: 5 })
  t.match(run.ofType('step'), [{ usage: sum }])
  t.match(run.parts.at(-1), { type: 'finish', usage: sum })
  const [first, last] = [usage(10, 2, { cachedPromptTokens: 4 }), usage(10, 2, { cachedPromptTokens: 1 })]
  t.strictSame(events, [first, undefined, usage(10, 2), last], 'each of its own attempt')
})
