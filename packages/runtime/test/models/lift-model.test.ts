import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart
} from '@ai-sdk/provider'
import { Agent } from '@svc/runtime'
import t from 'tap'
import { collect } from '../helpers/make-agent.ts'

const input = [
  { type: 'image' as const, mimeType: 'image/png', data: 'aGk=' },
  { type: 'file' as const, mimeType: 'a/b', url: 'https://example.org/x' }
]
const lowered = [
  {
    role: 'user',
    content: [
      { type: 'file', mediaType: 'image/png', data: 'aGk=' },
      { type: 'file', data: new URL('https://example.org/x') }
    ]
  }
]
const supportedUrls = { 'a/*': [/^https:\/\/example\.org\//] }
const noGenerate = () => Promise.reject(new Error('not called'))

function modelV2(finish: Extract<LanguageModelV2StreamPart, { type: 'finish' }>) {
  const calls: LanguageModelV2CallOptions[] = []
  const model: LanguageModelV2 = {
    specificationVersion: 'v2',
    provider: 'old',
    modelId: 'old-2',
    supportedUrls,
    doGenerate: noGenerate,
    doStream: async (options) => {
      calls.push(options)
      const parts: LanguageModelV2StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'Hello' },
        { type: 'text-end', id: '1' },
        finish
      ]
      return { stream: ReadableStream.from(parts) }
    }
  }
  return { calls, model }
}

function modelV3(finish: Extract<LanguageModelV3StreamPart, { type: 'finish' }>) {
  const calls: LanguageModelV3CallOptions[] = []
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'old',
    modelId: 'old-3',
    supportedUrls,
    doGenerate: noGenerate,
    doStream: async (options) => {
      calls.push(options)
      const parts: LanguageModelV3StreamPart[] = [{ type: 'text-delta', id: '1', delta: 'Hello' }, finish]
      return { stream: ReadableStream.from(parts) }
    }
  }
  return { calls, model }
}

const usageV2 = { inputTokens: 3, outputTokens: 4, totalTokens: 9 }
const usageV3 = {
  inputTokens: { total: 3, noCache: 1, cacheRead: 2, cacheWrite: undefined },
  outputTokens: { total: 4, text: 4, reasoning: undefined }
}
const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 }
const makeAgent = (model: LanguageModelV2 | LanguageModelV3) =>
  new Agent({ name: 'old', model, register: false, settings: { reasoning: 'low', temperature: 0 } })

t.test('a model of V2', async (t) => {
  const { model, calls } = modelV2({ type: 'finish', finishReason: 'length', usage: usageV2 })
  const agent = makeAgent(model)
  t.match(await agent.run(input), { text: 'Hello', finishReason: 'length', usage })
  t.match(calls[0]?.prompt, lowered)
  t.notOk(Object.hasOwn(calls[0] ?? {}, 'reasoning'), 'is no option of V2')
  t.equal(agent.describe().model, 'old-2')
})

t.test('the tools of providers, for a model of V2', async (t) => {
  const { model, calls } = modelV2({ type: 'finish', finishReason: 'stop', usage: usageV2 })
  const search = { type: 'provider', id: 'old.search', args: { maxUses: 1 } } as const
  await new Agent({ name: 'old', model, register: false, tools: [search] }).run('Hello')
  t.match(calls[0]?.tools, [
    { type: 'provider-defined', id: 'old.search', name: 'search', args: { maxUses: 1 } }
  ])
})

t.test('a model of V3', async (t) => {
  const { model, calls } = modelV3({
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'end' },
    usage: usageV3
  })
  t.match(await makeAgent(model).run(input), { text: 'Hello', finishReason: 'stop', usage })
  t.match(calls[0]?.prompt, lowered)
  t.notOk(Object.hasOwn(calls[0] ?? {}, 'reasoning'))
})

t.test('the way in which earlier adapters say that their provider’s stream was cut off', async (t) => {
  const nothing = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined }
  const nothingV3 = {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined }
  }
  const cut = [
    modelV2({ type: 'finish', finishReason: 'unknown', usage: nothing }),
    modelV3({ type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: nothingV3 })
  ]
  for (const { model } of cut)
    t.match((await collect(makeAgent(model).stream('Hi'))).error, { code: 'RUN_ERR_MODEL_STREAM_BROKEN' })
  const wordless = modelV2({ type: 'finish', finishReason: 'unknown', usage: usageV2 })
  t.equal((await makeAgent(wordless.model).run('Hi')).finishReason, 'other')
})
