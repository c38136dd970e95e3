import { createInProcessStores } from '@svc/registry'
import { summaryMemory } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { settleMemories } from '../../src/memory/run-memory.ts'
import { makeAgent, makeContext } from '../helpers/make-agent.ts'

const promptText = (call: { prompt: readonly { content: unknown }[] }) => JSON.stringify(call.prompt)

t.test('turns beyond the history are summarised, each once', async (t) => {
  const stores = createInProcessStores()
  const writer = scriptedModel((_options, index) => `Summary ${index + 1}.`)
  const { agent, model } = makeAgent('Ok.', {
    memory: summaryMemory({ model: writer, keep: 1, every: 2 }),
    history: { maxMessages: 2 }
  })
  const shown: string[] = []
  for (const input of ['One', 'Two', 'Three', 'Four', 'Five', 'Six']) {
    await agent.run(input, makeContext({ stores, sessionId: 's' }).context)
    await settleMemories(1_000)
    shown.push(promptText(model.calls.at(-1)!))
  }
  t.strictSame(
    shown.map((prompt) => /Summary \d/.exec(prompt)?.[0]),
    [undefined, undefined, undefined, 'Summary 1', 'Summary 1', 'Summary 2']
  )
  t.match(promptText(writer.calls[0]!), /One.*Two/s)
  t.notMatch(promptText(writer.calls[0]!), 'Three')
  t.match(promptText(writer.calls[1]!), /Summary 1.*Three.*Four/s)
  t.notMatch(promptText(writer.calls[1]!), 'One')
})

t.test('a failing model loses no turn', async (t) => {
  const stores = createInProcessStores()
  const writer = scriptedModel((_options, index) =>
    index === 0 ? { rejects: { statusCode: 500 } } : 'Summary.'
  )
  const { agent } = makeAgent('Ok.', { memory: summaryMemory({ model: writer, keep: 0, every: 2 }) })
  const { context } = makeContext({ stores, sessionId: 's' })
  const errors: unknown[] = []
  context.events.on('memory.error', ({ error }) => errors.push(error.code))
  for (const input of ['One', 'Two', 'Three']) {
    await agent.run(input, makeContext({ stores, sessionId: 's', events: context.events }).context)
    await settleMemories(1_000)
  }
  t.strictSame(errors, ['RUN_ERR_MODEL_FAILED'])
  t.match(promptText(writer.calls[1]!), /One.*Two.*Three/s)
})

t.test('options', async (t) => {
  const bad: [object, RegExp][] = [
    [{ keep: -1 }, /summaryMemory: keep/],
    [{ kep: 3 }, /summaryMemory: kep:/],
    [{ every: 0 }, /summaryMemory: every/]
  ]
  for (const [options, message] of bad)
    t.throws(() => summaryMemory({ model: scriptedModel('x'), ...options }), {
      code: 'RUN_ERR_BAD_AGENT',
      message
    })
  t.throws(() => summaryMemory({ model: 'x' as never }), { code: 'RUN_ERR_BAD_MODEL' })
})
