import { createRunEngine } from '@svc/registry'
import t from 'tap'
import { createAnalyst } from '../../src/agents/analyst.ts'
import { createAssistant } from '../../src/agents/assistant.ts'
import { createNotes } from '../../src/agents/notes.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { createDesk } from '../../src/teams/desk.ts'
import { calculate } from '../../src/tools/calculate.ts'

const model = createOfflineModel({ delay: 0 })
const desk = createDesk(model, [
  createAssistant(model, [calculate]),
  createAnalyst(model),
  createNotes(model)
])

t.test('hands each message to the agent that knows best, whose answer is its own', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  for (const [input, member, answer] of [
    ['What is 6 * 7?', 'assistant', /42/],
    ['The statistics of 3, 5 and 10, please', 'analyst', /"median": 5/],
    ['```js\nreturn 6 * 7\n```', 'analyst', /42/],
    ['note: buy milk', 'notes', /Noted as number 1: buy milk/],
    ['list my notes', 'notes', /1\. buy milk/],
    ['Hello', 'assistant', /./]
  ] as const) {
    const run = await engine.start(desk, input, { sessionId: 's' })
    const { text, toolCalls, finishReason } = await run.result()
    t.match(toolCalls[0], { toolName: 'route', result: { member } }, input)
    t.match(text, answer, input)
    t.equal(finishReason, 'stop')
  }
})

t.test('a desk without the one that knows best hands it to the first', async (t) => {
  const small = createDesk(model, [createAssistant(model, [calculate])])
  t.match((await small.run('note: buy milk')).toolCalls, [{ result: { member: 'assistant' } }])
})
