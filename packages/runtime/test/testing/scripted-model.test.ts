import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Agent } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import t from 'tap'

const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]

async function play(model: ReturnType<typeof scriptedModel>, abortSignal?: AbortSignal) {
  const { stream } = await model.doStream({ prompt, ...(abortSignal && { abortSignal }) })
  const parts: LanguageModelV4StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}
const typesOf = async (script: Script) => (await play(scriptedModel(script))).map((part) => part.type)

t.test('a turn as the parts of a stream', async (t) => {
  t.strictSame(await typesOf({ reasoning: 'Hm', text: ['a', 'b'], toolCalls: [{ toolName: 'x' }] }), [
    'stream-start',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
    'text-start',
    'text-delta',
    'text-delta',
    'text-end',
    'tool-call',
    'finish'
  ])
  const parts = await play(scriptedModel({ text: 'a', usage: { promptTokens: 1, completionTokens: 2 } }))
  t.match(parts.at(-1), {
    finishReason: { unified: 'stop' },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } }
  })
})

const text = async (model: ReturnType<typeof scriptedModel>) =>
  (await play(model)).map((part) => (part.type === 'text-delta' ? part.delta : '')).join('')

t.test('one turn for every call, a list, a function', async (t) => {
  const same = scriptedModel('a')
  t.strictSame([await text(same), await text(same)], ['a', 'a'])
  const list = scriptedModel(['a', { text: 'b' }])
  t.strictSame([await text(list), await text(list)], ['a', 'b'])
  await t.rejects(text(list), {
    code: 'RUN_ERR_SCRIPT_OVER',
    message: /script of the model ends after 2 calls/
  })
  const counting = scriptedModel((call, index) => `${call.prompt.length} ${index}`)
  t.strictSame([await text(counting), await text(counting)], ['1 0', '1 1'])
})

t.test('an agent reports the end of the script', async (t) => {
  const agent = new Agent({ name: 'short', model: scriptedModel([]), register: false })
  await t.rejects(agent.run('Hi'), {
    code: 'RUN_ERR_SCRIPT_OVER',
    message: /script of the model ends after 0 calls/,
    retryable: false
  })
  const forged = scriptedModel({ rejects: { code: 'RUN_ERR_SCRIPT_OVER', message: 'sk-SECRET' } })
  const other = new Agent({ name: 'forged', model: forged, register: false })
  await t.rejects(other.run('Hi'), { code: 'RUN_ERR_MODEL_FAILED', message: 'The model provider failed' })
})

t.test('calls are recorded unless disabled', async (t) => {
  const model = scriptedModel('a')
  const { signal } = new AbortController()
  await play(model, signal)
  t.equal(model.calls.length, 1)
  t.equal(model.calls[0]?.prompt, prompt)
  t.equal(model.calls[0]?.abortSignal, signal)
  const forgetful = scriptedModel('a', { record: false })
  await play(forgetful)
  t.equal(forgetful.calls.length, 0)
})

t.test('a delay ends with the signal', async (t) => {
  const controller = new AbortController()
  const playing = play(scriptedModel({ text: 'a', delay: 60_000 }), controller.signal)
  await new Promise(setImmediate)
  controller.abort()
  await t.rejects(playing, { name: 'AbortError' })
})
