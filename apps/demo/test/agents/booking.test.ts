import { createRunEngine, type InputAnswer } from '@svc/registry'
import t, { type Test } from 'tap'
import { createBooking } from '../../src/agents/booking.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const booking = createBooking(createOfflineModel({ delay: 0 }))

/** Lets the agent book a table, and answers its form. */
async function book(t: Test, ...answers: InputAnswer[]) {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const run = await engine.start(booking, 'Please book a table at Luigi’s.')
  const faults: string[] = []
  for await (const part of run.parts()) {
    if (part.type !== 'input.request') continue
    t.match(part, { kind: 'question', message: /Luigi’s/, schema: { required: ['people', 'time'] } })
    for (const answer of answers)
      await engine.answer(part.inputId, answer).catch((err: { code: string }) => faults.push(err.code))
  }
  const { text, toolCalls } = await run.result()
  return { text, tools: toolCalls.map(({ toolName }) => toolName), faults }
}

t.test('asks by a form, and books what the form says', async (t) => {
  const content = { people: 4, time: '19:30' }
  const { text, tools, faults } = await book(
    t,
    { action: 'accept', content: { people: 0, time: 'late' } },
    { action: 'accept', content }
  )
  t.same(faults, ['RUN_ERR_BAD_INPUT'], 'what does not fit the form is refused, and the run waits on')
  t.match(text, /^Booked: a table for 4 at Luigi’s at 19:30, number [0-9A-F]{6}\.$/)
  t.same(tools, ['ask_guest', 'book_table'])
})

t.test('books nothing when the guest declines', async (t) => {
  const { text, tools } = await book(t, { action: 'decline' })
  t.equal(text, 'Then I book nothing.')
  t.same(tools, ['ask_guest'])
})

t.test('says what it can do', async (t) => {
  t.match((await booking.run('Hello')).text, /Book a table at/)
})
