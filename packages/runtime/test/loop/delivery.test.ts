import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import type { ScriptedTurn } from '@svc/runtime/testing'
import t from 'tap'
import { makeAgent } from '../helpers/make-agent.ts'
import { makeCall, type PlayedDelivery } from '../helpers/make-call.ts'

const user = (content: string) => ({ role: 'user', content })

/** A model call that stays open after some text, and after calls of tools. */
const open = (text: string, ...toolNames: string[]): ScriptedTurn => ({
  parts: [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: text },
    ...toolNames.map((toolName, index): LanguageModelV4StreamPart => ({
      type: 'tool-call',
      toolCallId: `c${index}`,
      toolName,
      input: '{}'
    }))
  ],
  hangs: 'stream'
})

/** A tool that waits until it is released. */
function makeTool() {
  const called = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const tool = defineTool({
    name: 'look',
    description: 'Looks',
    input: Type.Object({}),
    async execute() {
      called.resolve()
      await release.promise
      return 'seen'
    }
  })
  return { tool, called: called.promise, release: release.resolve }
}
const callsLook = (text: string) => ({ text, toolCalls: [{ toolName: 'look', toolCallId: 'c0' }] })
const looked = (text: string) => ({
  role: 'assistant',
  text,
  toolCalls: [{ toolCallId: 'c0', toolName: 'look', args: {} }]
})
const result = { role: 'tool', toolCallId: 'c0', toolName: 'look', result: 'seen' }

t.test('a turn ends, and is saved, once its answer is delivered', async (t) => {
  const { agent } = makeAgent(['One two three.', 'Four.'])
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Count')
  await delivery.until(1)
  t.strictSame(delivery.sent, ['One two three..'])
  const next = await turn('And then')
  t.strictSame(await messages(), [])
  delivery.play()
  t.match((await ended).parts.at(-1), { type: 'finish', finishReason: 'stop' })
  await next.delivery.until(1)
  next.delivery.play()
  await next.ended
  t.strictSame(await messages(), [
    user('Count'),
    { role: 'assistant', text: 'One two three.' },
    user('And then'),
    { role: 'assistant', text: 'Four.' }
  ])
})

t.test('the session keeps what was delivered, and the model sees where it was interrupted', async (t) => {
  const { agent, model } = makeAgent(['One two three.', 'Yes?'])
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Count')
  await delivery.until(1)
  delivery.interrupt(7)
  t.match((await ended).parts.at(-1), { type: 'finish', finishReason: 'stop' })
  t.strictSame(await messages(), [user('Count'), { role: 'assistant', text: 'One two', interrupted: true }])
  const next = await turn('Stop')
  await next.delivery.until(1)
  t.match(model.calls[1]?.prompt[1], { content: [{ type: 'text', text: 'One two [interrupted here]' }] })
  next.delivery.play()
  await next.ended
})

t.test('an interruption ends the model call, and what had arrived of it counts', async (t) => {
  const { agent, model } = makeAgent([open('One two three'), 'Yes?'])
  const { turn, messages } = makeCall(agent)
  const { ended } = await turn('Count', (part, delivery) => {
    if (part.type === 'text') delivery.interrupt(3)
  })
  const { types, parts } = await ended
  t.strictSame(types, ['start', 'step.start', 'text', 'step', 'finish'])
  t.match(parts.at(-1), { finishReason: 'stop' })
  t.equal(model.calls[0]?.abortSignal?.aborted, true)
  t.strictSame(await messages(), [user('Count'), { role: 'assistant', text: 'One', interrupted: true }])
})

t.test('before its first word, an interruption leaves an empty answer', async (t) => {
  for (const hangs of ['call', 'stream'] as const) {
    const { agent, model } = makeAgent([{ hangs, parts: [] }, 'Yes?'])
    const { turn, messages } = makeCall(agent)
    const { delivery, ended } = await turn('Count', (part, delivery) => {
      if (part.type === 'step.start') setImmediate(() => delivery.interrupt(0))
    })
    t.match((await ended).parts.at(-1), { finishReason: 'stop' }, hangs)
    t.strictSame(delivery.sent, ['.'])
    t.strictSame(await messages(), [user('Count'), { role: 'assistant', text: '', interrupted: true }])
    const next = await turn('Stop')
    await next.delivery.until(1)
    t.match(model.calls[1]?.prompt[1], { content: [{ type: 'text', text: '[interrupted here]' }] })
    next.delivery.play()
    await next.ended
  }
})

t.test('a tool does not wait for the text before it, nor does the next step', async (t) => {
  const { tool, called, release } = makeTool()
  const { agent } = makeAgent([callsLook('One moment.'), 'Done.'], { tools: [tool] })
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Look')
  await called
  t.strictSame(delivery.sent, ['One moment.'])
  release()
  await delivery.until(2)
  t.strictSame(delivery.sent, ['One moment.', 'Done..'])
  delivery.play()
  await ended
  t.strictSame(await messages(), [
    user('Look'),
    looked('One moment.'),
    result,
    { role: 'assistant', text: 'Done.' }
  ])
})

t.test('a tool outlives the interruption; then the model is not called again', async (t) => {
  const { tool, called, release } = makeTool()
  const { agent, model } = makeAgent([callsLook('One moment.'), 'Done.'], { tools: [tool] })
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Look')
  await called
  delivery.interrupt(3)
  release()
  const { ofType, parts } = await ended
  t.match(ofType('tool.result'), [{ result: 'seen' }])
  t.match(parts.at(-1), { finishReason: 'stop' })
  t.equal(model.calls.length, 1)
  t.strictSame(delivery.sent, ['One moment.', '.'])
  t.strictSame(await messages(), [user('Look'), { ...looked('One'), interrupted: true }, result])
})

t.test('after text that was delivered whole, the interruption of a tool stands alone', async (t) => {
  const { tool, called, release } = makeTool()
  const { agent } = makeAgent([callsLook('Wait.'), 'Done.'], { tools: [tool] })
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Look')
  await called
  delivery.play()
  delivery.interrupt(5)
  release()
  await ended
  const silent = { role: 'assistant', text: '', interrupted: true }
  t.strictSame(await messages(), [user('Look'), looked('Wait.'), result, silent])
})

t.test('of several texts, the interrupted one is the last', async (t) => {
  const { tool, release } = makeTool()
  release()
  const { agent } = makeAgent([callsLook('One moment.'), 'Done.'], { tools: [tool] })
  const { turn, messages } = makeCall(agent)
  const { delivery, ended } = await turn('Look')
  await delivery.until(2)
  delivery.interrupt(3)
  await ended
  t.strictSame(await messages(), [user('Look'), { ...looked('One'), interrupted: true }, result])
})

t.test('tools of an interrupted step are not called', async (t) => {
  const { tool, called } = makeTool()
  void called.then(() => t.fail('the tool was called'))
  const { agent } = makeAgent([open('One moment.', 'look')], { tools: [tool] })
  const { turn, messages } = makeCall(agent)
  const { ended } = await turn('Look', (part, delivery) => {
    if (part.type === 'tool.call') delivery.interrupt(3)
  })
  const { ofType } = await ended
  const error = {
    code: 'RUN_ERR_TOOL_SKIPPED',
    message: 'The user interrupted first'
  }
  t.match(ofType('tool.error'), [{ toolCallId: 'c0', error }])
  t.strictSame(await messages(), [
    user('Look'),
    { ...looked('One'), interrupted: true },
    { role: 'tool', toolCallId: 'c0', toolName: 'look', error }
  ])
})

t.test('a retry of the model ends with the interruption', async (t) => {
  const fault = Object.assign(new Error('busy'), { statusCode: 503, isRetryable: true })
  const { agent, model } = makeAgent([{ rejects: fault }, 'never'], { retry: { baseDelay: 60_000 } })
  const { turn } = makeCall(agent)
  const { ended } = await turn('Hi', (part, delivery) => {
    if (part.type === 'step.start') setImmediate(() => delivery.interrupt(0))
  })
  t.match((await ended).parts.at(-1), { finishReason: 'stop' })
  t.equal(model.calls.length, 1)
})

const endings: [string, ScriptedTurn, (call: Awaited<ReturnType<Turn>>) => void][] = [
  ['a canceled run, while the text arrives', open('One two three'), ({ run }) => run.cancel()],
  ['a canceled run, while the text is delivered', { text: 'One two three' }, ({ run }) => run.cancel()],
  ['a failed model', { text: 'One two three', breaks: new Error('broken') }, () => {}]
]
type Turn = ReturnType<typeof makeCall>['turn']

for (const [name, script, act] of endings)
  t.test(`${name}: the session keeps what was delivered, if anything was`, async (t) => {
    for (const heard of [3, 0]) {
      const { agent } = makeAgent([script, 'Yes?'], { retry: { attempts: 1 } })
      const { turn, messages } = makeCall(agent)
      const arrived = Promise.withResolvers<PlayedDelivery>()
      const call = await turn('Count', (part, delivery) => {
        if (part.type !== 'text') return
        delivery.play(heard)
        arrived.resolve(delivery)
      })
      await arrived.promise
      if (script.text !== undefined && script.breaks === undefined) await call.delivery.until(1)
      act(call)
      if (script.breaks !== undefined) {
        await call.delivery.until(1)
        call.delivery.interrupt(heard)
      }
      await call.ended
      // It waits for the end of the turn before.
      const next = await turn('Stop')
      await next.delivery.until(1)
      const saved = [user('Count'), { role: 'assistant', text: 'One', interrupted: true }]
      t.strictSame(await messages(), heard === 0 ? [] : saved)
      next.delivery.play()
      await next.ended
    }
  })

for (const isInterrupted of [false, true])
  t.test(
    isInterrupted
      ? 'an interruption and a cancel during a tool mark the text before it'
      : 'a run that is canceled during a tool keeps the text before it',
    async (t) => {
      const { tool, called } = makeTool()
      const { agent } = makeAgent([callsLook('One moment.'), 'Yes?'], { tools: [tool] })
      const { turn, messages } = makeCall(agent)
      const { delivery, run, ended } = await turn('Look')
      await called
      if (isInterrupted) delivery.interrupt(11)
      else delivery.play(11)
      run.cancel()
      await ended
      const next = await turn('Stop')
      await next.delivery.until(1)
      t.strictSame(await messages(), [
        user('Look'),
        { role: 'assistant', text: 'One moment.', ...(isInterrupted && { interrupted: true }) }
      ])
      next.delivery.play()
      await next.ended
    }
  )

t.test('a delivery that fails ends the turn', async (t) => {
  const { agent } = makeAgent('Hello.')
  const delivery = {
    interrupted: new AbortController().signal,
    settle: () => Promise.reject(new Error('deaf'))
  }
  const { makeContext, collect } = await import('../helpers/make-agent.ts')
  const { context, logged } = makeContext()
  const child = context.child('turn', { answersCaller: true, unsourced: true, delivery })
  const { error } = await collect(agent.stream('Hi', child))
  t.match(error, { message: 'deaf' })
  t.match(logged.at(-1), { message: 'the delivered part of a turn could not be saved' })
})
