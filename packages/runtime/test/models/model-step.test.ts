import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Agent } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const retry = { attempts: 3, baseDelay: 1, maxDelay: 5 }
const overloaded = { type: 'overloaded_error', message: 'SECRET' }

t.test('an error part before the first content is tried again like a throw', async (t) => {
  const { agent } = makeAgent([{ errorPart: overloaded }, { breaks: { code: 'ECONNRESET' } }, 'Hello.'], {
    retry
  })
  const { ofType, text } = await collect(agent.stream('Hi'))
  t.equal(text, 'Hello.')
  t.strictSame(
    ofType('step.start').map(({ index, attempt }) => [index, attempt]),
    [
      [0, 1],
      [0, 2],
      [0, 3]
    ]
  )
})

t.test('a stream that ends without a finish', async (t) => {
  const empty = await collect(makeAgent([{ finish: false }, 'Hello.'], { retry }).agent.stream('Hi'))
  t.equal(empty.text, 'Hello.', 'before the first content it is tried again')
  const cut: Script[] = [
    { text: 'Hel', finish: false },
    { text: 'Hel', finishReason: 'interrupted' },
    { text: 'Hel', breaks: new Error('x') },
    { text: 'Hel', errorPart: overloaded },
    { reasoning: 'Hm', finish: false },
    { text: 'Hel', finishReason: 'error' }
  ]
  for (const script of cut) {
    const { agent, model } = makeAgent(script, { retry })
    const { error, types } = await collect(agent.stream('Hi'))
    t.match(error, { code: 'RUN_ERR_MODEL_STREAM_BROKEN' })
    t.notOk(types.includes('finish'))
    t.equal(model.calls.length, 1)
  }
})

t.test('the number of attempts', async (t) => {
  for (const attempts of [1, 2, 5]) {
    const { agent, model } = makeAgent({ rejects: { statusCode: 500 } }, { retry: { ...retry, attempts } })
    await t.rejects(agent.run('Hi'), { code: 'RUN_ERR_MODEL_FAILED' })
    t.equal(model.calls.length, attempts)
  }
})

t.test('a model that does not keep to its specification', async (t) => {
  const answers: unknown[] = [undefined, {}, { stream: 'x' }]
  for (const answer of answers) {
    const model = { ...scriptedModel('x'), doStream: async () => answer } as unknown as LanguageModelV4
    const agent = new Agent({ name: 'odd', model, register: false, retry })
    await t.rejects(agent.run('Hi'), { code: 'RUN_ERR_MODEL_FAILED', message: 'The model provider failed' })
  }
  const throws = {
    ...scriptedModel('x'),
    doStream: () => {
      throw new Error('SECRET')
    }
  } as LanguageModelV4
  const { error } = await collect(new Agent({ name: 'odd', model: throws, register: false }).stream('Hi'))
  t.match(error, { code: 'RUN_ERR_MODEL_FAILED' })
  t.notMatch(String(error?.stack), 'SECRET')
})

t.test('time-outs end a model that ignores its signal', async (t) => {
  const cases: [Script, object, string][] = [
    [{ hangs: 'call' }, { firstToken: 20 }, 'RUN_ERR_FIRST_TOKEN_TIMEOUT'],
    [{ hangs: 'stream' }, { firstToken: 20 }, 'RUN_ERR_FIRST_TOKEN_TIMEOUT'],
    [{ text: 'x', hangs: 'stream' }, { betweenTokens: 20 }, 'RUN_ERR_TOKEN_TIMEOUT'],
    [{ text: 'x', hangs: 'stream' }, { run: 20 }, 'RUN_ERR_TIMEOUT']
  ]
  for (const [script, timeout, code] of cases) {
    const { agent, model } = makeAgent(script, { timeout })
    const { error } = await collect(agent.stream('Hi'))
    t.match(error, { code, statusCode: 504 })
    t.equal(model.calls[0]?.abortSignal?.reason, error)
  }
})

t.test('tokens that keep coming hold the time-out off, pings do not', async (t) => {
  const slow = makeAgent(
    { text: Array.from({ length: 25 }, () => 'x'), delay: 20 },
    { timeout: { betweenTokens: 400 } }
  )
  t.equal((await slow.agent.run('Hi')).text, 'x'.repeat(25))
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'text-delta', id: '1', delta: 'x' },
    ...Array.from({ length: 100 }, () => ({ type: 'ping' as const }))
  ]
  const pinging = makeAgent({ parts, delay: 5 }, { timeout: { betweenTokens: 40 } })
  t.match((await collect(pinging.agent.stream('Hi'))).error, { code: 'RUN_ERR_TOKEN_TIMEOUT' })
})

t.test('a reader that takes its time is no silence of the model', async (t) => {
  const { agent } = makeAgent({ text: ['a', 'b', 'c'] }, { timeout: { betweenTokens: 15, firstToken: 15 } })
  let text = ''
  for await (const part of agent.stream('Hi')) {
    if (part.type !== 'text') continue
    text += part.text
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  t.equal(text, 'abc')
})

t.test('a stream is canceled when its run ends early, and read to its end otherwise', async (t) => {
  const streams: { canceled: boolean; pulled: number }[] = []
  const model: LanguageModelV4 = {
    ...scriptedModel('x'),
    doStream: async () => {
      const state = { canceled: false, pulled: 0 }
      streams.push(state)
      const finish = scriptedFinish
      return {
        stream: new ReadableStream(
          {
            pull(controller) {
              const at = state.pulled++
              if (at === 0) controller.enqueue({ type: 'text-delta', id: '1', delta: 'x' })
              else if (at === 1) controller.enqueue(finish)
              else controller.close()
            },
            cancel() {
              state.canceled = true
            }
          },
          { highWaterMark: 0 }
        )
      }
    }
  }
  const agent = new Agent({ name: 'streams', model, register: false })
  await agent.run('Hi')
  await new Promise(setImmediate)
  t.strictSame(streams[0], { canceled: false, pulled: 3 })
  for await (const part of agent.stream('Hi')) if (part.type === 'text') break
  await new Promise(setImmediate)
  t.strictSame(streams[1], { canceled: true, pulled: 1 })
})

const scriptedFinish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: Number.NaN, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined }
  }
}

t.test('a stream that comes after the run has ended is canceled', async (t) => {
  const opening = Promise.withResolvers<{ stream: ReadableStream<LanguageModelV4StreamPart> }>()
  const model: LanguageModelV4 = { ...scriptedModel('x'), doStream: () => opening.promise }
  const agent = new Agent({ name: 'late', model, register: false })
  const controller = new AbortController()
  const running = collect(agent.stream('Hi', makeContext({ signal: controller.signal }).context))
  await new Promise(setImmediate)
  controller.abort(new Error('gone'))
  t.match((await running).error, { message: 'gone' })
  const canceled = Promise.withResolvers<void>()
  opening.resolve({ stream: new ReadableStream({ cancel: () => canceled.resolve() }) })
  await canceled.promise
})

t.test('what a provider package streams beside the answer is no token', async (t) => {
  const beside = [
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r1', modelId: 'm' },
    { type: 'custom', kind: 'anthropic.message_start', providerMetadata: { anthropic: { id: 'r1' } } },
    { type: 'raw', rawValue: {} },
    { type: 'ping' },
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-delta', id: '1', delta: '' },
    { type: 'reasoning-end', id: '1' },
    { type: 'text-start', id: '2' },
    { type: 'text-delta', id: '2', delta: '' }
  ] satisfies LanguageModelV4StreamPart[]
  const again = makeAgent([{ parts: [...beside, { type: 'error', error: overloaded }] }, 'Hello.'], { retry })
  t.equal((await again.agent.run('Hi')).text, 'Hello.')
  t.equal(again.model.calls.length, 2)

  const first = makeAgent({ parts: beside, hangs: 'stream' }, { timeout: { firstToken: 40 } })
  t.match((await collect(first.agent.stream('Hi'))).error, { code: 'RUN_ERR_FIRST_TOKEN_TIMEOUT' })

  const many = Array.from({ length: 40 }, () => beside).flat()
  const parts: LanguageModelV4StreamPart[] = [{ type: 'text-delta', id: '2', delta: 'x' }, ...many]
  const between = makeAgent({ parts, delay: 2 }, { timeout: { betweenTokens: 40 } })
  t.match((await collect(between.agent.stream('Hi'))).error, { code: 'RUN_ERR_TOKEN_TIMEOUT' })

  const whole = makeAgent({ parts: [...beside, { type: 'text-delta', id: '2', delta: 'x' }, scriptedFinish] })
  const [step] = (await collect(whole.agent.stream('Hi'))).ofType('step')
  t.type(step?.firstTokenMs, 'number')
  const silent = makeAgent({ parts: [...beside, scriptedFinish] })
  t.equal((await collect(silent.agent.stream('Hi'))).ofType('step')[0]?.firstTokenMs, undefined)
})

t.test('an answer without a usage, or with an odd one, is complete', async (t) => {
  const counts = (total: unknown) => ({ inputTokens: { total }, outputTokens: { total, reasoning: total } })
  const odd: [unknown, unknown][] = [
    [undefined, undefined],
    [null, undefined],
    [{}, undefined],
    [{ inputTokens: null, outputTokens: {} }, undefined],
    [counts('12'), undefined],
    [counts(-1), undefined],
    [counts(Number.NaN), undefined],
    [{ inputTokens: { total: 3 } }, { promptTokens: 3, completionTokens: 0, totalTokens: 3 }]
  ]
  for (const [usage, expected] of odd) {
    const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }
    const parts = [{ type: 'text-delta', id: '1', delta: 'Hello.' }, finish] as LanguageModelV4StreamPart[]
    const { context } = makeContext()
    const { ofType, text, error } = await collect(makeAgent({ parts }).agent.stream('Hi', context))
    t.equal(error, undefined)
    t.equal(text, 'Hello.')
    t.strictSame(ofType('step')[0]?.usage, expected)
    t.notMatch(JSON.stringify(ofType('finish')), /NaN|null/)
    const result = await makeAgent({ parts }).agent.run('Hi')
    t.strictSame(result.usage, expected ?? { promptTokens: 0, completionTokens: 0, totalTokens: 0 })
  }
})
