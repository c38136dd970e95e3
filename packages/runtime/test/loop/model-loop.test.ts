import { getEventListeners } from 'node:events'
import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const echo = defineTool({
  name: 'echo',
  description: 'Gives back what it gets',
  input: Type.Object({ value: Type.Unknown() }),
  execute: ({ value }) => value
})
const callEcho = (value: unknown) => ({ toolCalls: [{ toolName: 'echo', args: { value } }] })

t.test('an answer without tools', async (t) => {
  const { agent, model } = makeAgent(
    { text: ['Hel', 'lo'], reasoning: 'Greet.' },
    { instructions: 'Be brief.' }
  )
  const { parts, ofType } = await collect(agent.stream('Hi'))
  const usage = { promptTokens: 10, completionTokens: 2, totalTokens: 12 }
  const [{ durationMs, firstTokenMs } = {}] = ofType('step')
  t.ok(durationMs! >= firstTokenMs! && firstTokenMs! >= 0)
  t.strictSame(parts, [
    { type: 'step.start', index: 0, attempt: 1, model: { provider: 'scripted', modelId: 'scripted' } },
    { type: 'reasoning', text: 'Greet.' },
    { type: 'text', text: 'Hel' },
    { type: 'text', text: 'lo' },
    { type: 'step', index: 0, usage, finishReason: 'stop', durationMs, firstTokenMs },
    { type: 'finish', finishReason: 'stop', usage }
  ])
  t.strictSame(model.calls[0]?.prompt, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
  ])
  t.equal(model.calls[0]?.tools, undefined)
})

t.test('the model sees what its tools gave, until it answers', async (t) => {
  const { agent, model } = makeAgent(
    [{ text: 'Let me see.', ...callEcho(1) }, callEcho({ a: [2] }), 'Done.'],
    {
      tools: [echo]
    }
  )
  const { types, parts, text } = await collect(agent.stream('Go'))
  t.strictSame(types, [
    'step.start',
    'text',
    'tool.call',
    'step',
    'tool.result',
    'step.start',
    'tool.call',
    'step',
    'tool.result',
    'step.start',
    'text',
    'step',
    'finish'
  ])
  t.equal(text, 'Let me see.Done.')
  t.match(parts.at(-1), { usage: { promptTokens: 30, completionTokens: 2, totalTokens: 32 } })
  const [first, second, third] = model.calls
  t.equal(first?.prompt.length, 1, 'a prompt that was given is never changed')
  t.strictSame(second?.prompt.slice(1), [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-call', toolCallId: 'call-1', toolName: 'echo', input: { value: 1 } }
      ]
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'call-1', toolName: 'echo', output: { type: 'json', value: 1 } }
      ]
    }
  ])
  t.equal(third?.prompt.length, 5)
  t.match(first?.tools, [{ type: 'function', name: 'echo', inputSchema: { type: 'object' } }])
})

t.test('an id that the model gives twice, or leaves empty, becomes one of its own', async (t) => {
  const twice = { toolCallId: 'same', toolName: 'echo', args: { value: 1 } }
  const { agent, model } = makeAgent([{ toolCalls: [twice, twice, { ...twice, toolCallId: '' }] }, 'Done.'], {
    tools: [echo]
  })
  const { toolCalls } = await agent.run('Go')
  const ids = toolCalls.map((call) => call.toolCallId)
  t.equal(new Set(ids).size, 3)
  t.equal(ids[0], 'same')
  t.notOk(ids.includes(''))
  const [, assistant, results] = model.calls[1]?.prompt ?? []
  t.match(assistant, { content: ids.map((toolCallId) => ({ toolCallId })) })
  t.match(results, { content: ids.map((toolCallId) => ({ toolCallId })) })
})

t.test('maxSteps ends a run that would go on', async (t) => {
  const { agent, model } = makeAgent(callEcho(1), { tools: [echo], maxSteps: 3 })
  const { parts, types } = await collect(agent.stream('Go'))
  t.equal(model.calls.length, 3)
  t.equal(types.filter((type) => type === 'tool.result').length, 3, 'every call has its result')
  t.match(parts.at(-1), { type: 'finish', finishReason: 'max-steps' })

  const ten = makeAgent(callEcho(1), { tools: [echo] })
  await ten.agent.run('Go')
  t.equal(ten.model.calls.length, 10)
})

t.test('finish reasons', async (t) => {
  for (const reason of ['stop', 'length', 'content-filter', 'other'] as const) {
    const { agent } = makeAgent({ text: 'x', finishReason: reason })
    t.equal((await agent.run('Hi')).finishReason, reason)
  }
  t.equal((await makeAgent({ text: 'x', finishReason: 'tool-calls' }).agent.run('Hi')).finishReason, 'other')
})

t.test('instructions may be a function of the run', async (t) => {
  const { agent, model } = makeAgent('Hi.', {
    instructions: async ({ principal }) => `You serve ${principal.sub}.`
  })
  await agent.run('Hello', makeContext({ principal: { sub: 'ann', scopes: [] } }).context)
  t.match(model.calls[0]?.prompt[0], { role: 'system', content: 'You serve ann.' })
  const failing = makeAgent('Hi.', { instructions: () => Promise.reject(new Error('no file')) })
  await t.rejects(failing.agent.run('Hello'), { message: 'no file' })
  t.equal(failing.model.calls.length, 0)
})

t.test('settings go to every model call', async (t) => {
  const settings = {
    temperature: 0.2,
    maxOutputTokens: 50,
    stopSequences: ['END'],
    providerOptions: { x: { y: 1 } }
  }
  const { agent, model } = makeAgent([callEcho(1), 'Done.'], { settings, tools: [echo] })
  await agent.run('Go')
  for (const call of model.calls) t.match(call, settings)
})

t.test('multi-modal input reaches the model', async (t) => {
  const { agent, model } = makeAgent('I see.')
  await agent.run([
    { type: 'text', text: 'What is it?' },
    { type: 'image', mimeType: 'image/png', data: 'aGk=', filename: 'cat.png' },
    { type: 'audio', mimeType: 'audio/wav', url: 'https://example.org/a.wav' }
  ])
  t.strictSame(model.calls[0]?.prompt[0]?.content, [
    { type: 'text', text: 'What is it?' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' }, filename: 'cat.png' },
    { type: 'file', mediaType: 'audio/wav', data: { type: 'url', url: new URL('https://example.org/a.wav') } }
  ])
})

t.test('reasoning goes back to the model with what its provider wants back', async (t) => {
  const signed = { anthropic: { signature: 's1' } }
  const { agent, model } = makeAgent(
    [
      {
        parts: [
          { type: 'reasoning-start', id: '1' },
          { type: 'reasoning-delta', id: '1', delta: 'Think.' },
          { type: 'reasoning-delta', id: '1', delta: '', providerMetadata: signed },
          { type: 'reasoning-end', id: '1' },
          { type: 'text-start', id: '2' },
          { type: 'text-end', id: '2' },
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 'echo',
            input: '{"value":1}',
            providerMetadata: signed
          },
          {
            type: 'finish',
            finishReason: { unified: 'tool-calls', raw: 'x' },
            usage: {
              inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
              outputTokens: { total: undefined, text: undefined, reasoning: undefined }
            }
          }
        ]
      },
      'Done.'
    ],
    { tools: [echo] }
  )
  await agent.run('Go')
  t.strictSame(model.calls[1]?.prompt[1]?.content, [
    { type: 'reasoning', text: 'Think.', providerOptions: signed },
    { type: 'tool-call', toolCallId: 'c', toolName: 'echo', input: { value: 1 }, providerOptions: signed }
  ])
})

t.test('a canceled run', async (t) => {
  t.test('before it begins', async (t) => {
    const { agent, model } = makeAgent('Hello.')
    const reason = new Error('gone')
    const { parts, error } = await collect(
      agent.stream('Hi', makeContext({ signal: AbortSignal.abort(reason) }).context)
    )
    t.equal(error, reason)
    t.equal(parts.length, 0)
    t.equal(model.calls.length, 0)
  })

  for (const hangs of ['call', 'stream'] as const) {
    t.test(`while a model that ignores its signal hangs in its ${hangs}`, async (t) => {
      const { agent, model } = makeAgent({ hangs })
      const controller = new AbortController()
      const { context } = makeContext({ signal: controller.signal })
      const running = collect(agent.stream('Hi', context))
      while (model.calls.length === 0) await new Promise(setImmediate)
      const reason = new Error('gone')
      controller.abort(reason)
      const { error, types } = await running
      t.equal(error, reason)
      t.strictSame(types, ['step.start'])
      t.equal(model.calls[0]?.abortSignal?.reason, reason)
      t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    })
  }

  t.test('by a reader that leaves', async (t) => {
    const { agent, model } = makeAgent({ text: ['a', 'b'], hangs: 'stream' })
    const { context } = makeContext()
    for await (const part of agent.stream('Hi', context)) if (part.type === 'text') break
    t.equal(getEventListeners(context.signal, 'abort').length, 0)
    t.equal(model.calls.length, 1)
  })
})

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

t.test('nothing is left of a run: no listener, no timer', async (t) => {
  const { agent } = makeAgent([callEcho(1), 'Done.'], { tools: [echo] })
  const { context } = makeContext({ signal: new AbortController().signal })
  const before = timers()
  await agent.run('Go', context)
  t.equal(timers(), before)
  t.equal(getEventListeners(context.signal, 'abort').length, 0)
})
