import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider'
import t from 'tap'
import { OVERFLOW_PROVIDERS, overflowError, prefixCacheModel } from '../src/index.ts'

const mark = { anthropic: { cacheControl: { type: 'ephemeral' } } }
const user = (text: string, isMarked = false): LanguageModelV4Message => ({
  role: 'user',
  content: [{ type: 'text', text }],
  ...(isMarked && { providerOptions: mark })
})
const long = (name: string) => `${name} ${'word '.repeat(1_000)}`

async function ask(model: ReturnType<typeof prefixCacheModel>, options: LanguageModelV4CallOptions) {
  const { stream } = await model.doStream(options)
  for await (const part of stream) if (part.type === 'finish') return part.usage.inputTokens
  return undefined
}

t.test('what ends with a mark is kept, and found from 20 blocks behind the next one', async (t) => {
  const model = prefixCacheModel()
  await ask(model, { prompt: [user(long('a'), true), user('b')] })
  const near = [user(long('a')), ...Array.from({ length: 20 }, (_, n) => user(`${n}`, n === 19))]
  const { total, cacheRead } = (await ask(model, { prompt: near }))!
  t.ok(cacheRead! > 1_000 && cacheRead! < total!)
  const far = [user(long('a')), ...Array.from({ length: 21 }, (_, n) => user(`x${n}`, n === 20))]
  t.match(await ask(model, { prompt: far }), { cacheRead: 0 })
  t.match(await ask(model, { prompt: [user(long('a'))] }), { cacheRead: 0 }, 'nothing is read without a mark')
  t.match(await ask(model, { prompt: [user(long('c'), true)] }), { cacheRead: 0 }, 'other bytes')
  await ask(model, { prompt: [user('short', true)] })
  t.match(await ask(model, { prompt: [user('short', true)] }), { cacheRead: 0 }, 'too short to be kept')
})

t.test('a fifth mark is refused', async (t) => {
  const model = prefixCacheModel()
  await ask(model, { prompt: Array.from({ length: 6 }, (_, n) => user(`${n}`, true)) })
  t.equal(model.refusedMarks, 2)
  t.match(model.calls, [{ marks: 6, cachedTokens: 0 }])
})

t.test('others keep every prefix, OpenAI by its key', async (t) => {
  const google = prefixCacheModel({ provider: 'google' })
  await ask(google, { prompt: [user(long('a')), user('b')] })
  t.match(await ask(google, { prompt: [user(long('a')), user('c')] }), { cacheRead: 1_152 })
  const openai = prefixCacheModel({ provider: 'openai' })
  const withKey = (promptCacheKey: string) => ({
    prompt: [user(long('a'))],
    providerOptions: { openai: { promptCacheKey } }
  })
  await ask(openai, withKey('one'))
  t.match(await ask(openai, withKey('two')), { cacheRead: 0 })
  t.match(await ask(openai, withKey('one')), { cacheRead: 1_152 })
})

t.test('a prompt that is too long is refused as its provider does', async (t) => {
  for (const provider of OVERFLOW_PROVIDERS) {
    const model = prefixCacheModel({ provider, window: 100 })
    await t.rejects(ask(model, { prompt: [user(long('a'))] }), { name: 'AI_APICallError', statusCode: 400 })
    t.equal(model.overflows, 1)
    t.strictSame(model.calls, [])
    await ask(model, { prompt: [user('a')] })
    t.equal(model.calls.length, 1)
  }
  t.match(overflowError('google', 7, 5), { responseBody: /input token count \(7\).*\(5\)/ })
})

t.test('it answers and calls tools as it is told', async (t) => {
  const model = prefixCacheModel({
    answer: (_options, call) => (call === 0 ? { toolCalls: [{ toolName: 'look' }] } : { text: 'Seen.' })
  })
  const types = async () =>
    (await Array.fromAsync((await model.doStream({ prompt: [user('a')] })).stream)).map(({ type }) => type)
  t.strictSame(await types(), ['stream-start', 'tool-call', 'finish'])
  t.strictSame(await types(), ['stream-start', 'text-start', 'text-delta', 'text-end', 'finish'])
})
