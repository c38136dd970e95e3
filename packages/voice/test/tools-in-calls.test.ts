import { setTimeout as wait } from 'node:timers/promises'
import { createEventBus } from '@svc/registry'
import { defineTool } from '@svc/runtime'
import { decodeTones } from '../src/testing/tone-codec.ts'
import t from 'tap'
import { startCall } from './helpers/start-call.ts'

t.setTimeout(20_000)

const listening = ({ state }: { state: string }) => state === 'listening'

function slowTool(name: string, approval = false) {
  const done = Promise.withResolvers<string>()
  const began = Promise.withResolvers<void>()
  const tool = defineTool({
    name,
    description: name,
    input: { type: 'object' },
    approval,
    execute: () => {
      began.resolve()
      return done.promise
    }
  })
  return { tool, began: began.promise, finish: done.resolve }
}

t.test('silence while a tool is in progress is filled, once', async (t) => {
  const { tool, finish } = slowTool('search')
  const { link, run, parts } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'search' }] }, 'There are two.'],
    agent: { tools: [tool] },
    voice: { tools: { filler: 'One moment.', fillerAfter: 30 } }
  })
  link.speak('how many are there')
  const { itemId } = await link.next('audio')
  await new Promise((resolve) => setTimeout(resolve, 300))
  finish('2')
  t.match(await link.next('answer.end'), { text: 'There are two.' })
  await link.next('state', listening)
  t.equal(decodeTones(link.audioOf(itemId), 24_000), 'One moment. There are two.')
  link.hangUp()
  await run.result()
  t.match(
    (await parts()).find(({ type }) => type === 'voice.turn'),
    { text: 'There are two.', status: 'completed' }
  )
})

t.test('a tool that answers soon needs no filler', async (t) => {
  const { tool, finish } = slowTool('search')
  const { link } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'search' }] }, 'There are two.'],
    agent: { tools: [tool] },
    voice: { tools: { filler: 'One moment.', fillerAfter: 2_000 } }
  })
  finish('2')
  link.speak('how many are there')
  const { itemId } = await link.next('answer.end')
  t.equal(decodeTones(link.audioOf(itemId), 24_000), 'There are two.')
})

for (const [word, result] of [
  ['Yes.', 'Booked.'],
  ['Certainly not!', 'As you like.']
] as const) {
  t.test(`an approval is asked for aloud, and "${word}" answers it`, async (t) => {
    const { tool, finish } = slowTool('book_table', true)
    finish('table 7')
    const { link, run, parts } = await startCall(t, {
      script: ({ prompt }, index) => {
        if (index === 0) return { toolCalls: [{ toolName: 'book_table' }] }
        return JSON.stringify(prompt).includes('table 7') ? 'Booked.' : 'As you like.'
      },
      agent: { tools: [tool] },
      voice: { tools: { no: ['no', 'certainly not'] } }
    })
    link.speak('book me a table')
    t.match(await link.next('approval'), { toolName: 'book_table' })
    const { itemId } = await link.next('audio')
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.match(decodeTones(link.audioOf(itemId), 24_000), 'book table')
    link.speak('what was that again')
    t.match(await link.next('transcript', ({ final }) => final), { text: 'what was that again' })
    link.speak(word)
    t.match(await link.next('answer.end'), { text: result })
    link.hangUp()
    await run.result()
    t.match(
      (await parts()).find(({ type }) => type === 'tool.approval.response'),
      { approved: word === 'Yes.' }
    )
  })
}

t.test('the first answer to an approval counts, over whatever wire', async (t) => {
  const { tool, finish } = slowTool('book_table', true)
  finish('table 7')
  const { link, run, engine } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'book_table' }] }, 'Done.', 'Yes what?'],
    agent: { tools: [tool] }
  })
  link.speak('book me a table')
  const { approvalId } = await link.next('approval')
  await engine.answer(approvalId, { approved: true })
  t.match(await link.next('answer.end', ({ text }) => text !== ''), { text: 'Done.' })
  await link.next('state', listening)
  link.speak('yes please')
  t.match(await link.next('answer.end'), { text: 'Yes what?' })
  t.equal(link.all('error').length, 0)
  link.hangUp()
  await run.result()
})

t.test('tools of the client are executed by it, and the answer continues in another response', async (t) => {
  const input = { type: 'object' } as const
  const { link, run, session } = await startCall(t, {
    script: [
      { text: 'Let me see.', toolCalls: [{ toolName: 'look' }, { toolName: 'listen' }] },
      'It is quiet and dark.'
    ],
    link: {
      settings: {
        tools: [
          { name: 'look', description: 'Looks', input },
          { name: 'listen', description: 'Listens', input }
        ]
      }
    }
  })
  link.speak('what is going on')
  t.match(await link.next('answer.end'), { text: 'Let me see.' })
  const first = await link.next('tool.call')
  const second = await link.next('tool.call')
  t.strictSame([first.toolName, second.toolName], ['look', 'listen'])
  t.equal(second.previousItemId, first.itemId)
  t.match(await link.next('response.end'), { responseId: first.responseId, status: 'completed' })
  await link.answer(second.inputId, { action: 'accept', content: 'silence' })
  // As clients of the Realtime protocol do, while the agent continues by itself.
  link.push({ type: 'respond' })
  await link.answer(first.inputId, { action: 'accept', content: 'dark' })
  const { text, responseId } = await link.next('answer.end')
  t.equal(text, 'It is quiet and dark.')
  t.not(responseId, first.responseId)
  await link.next('state', listening)
  t.equal(link.all('response.start').length, 2)
  t.equal(link.all('error').length, 0)
  link.hangUp()
  await run.result()
  t.match(await session(), [
    { role: 'user' },
    { role: 'assistant', text: 'Let me see.' },
    { role: 'tool', result: 'dark' },
    { role: 'tool', result: 'silence' },
    { role: 'assistant', text: 'It is quiet and dark.' }
  ])
})

t.test('a question of a tool is asked aloud, and the next turn answers it', async (t) => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks',
    input: { type: 'object' },
    execute: async (_args, context) => (await context.ask({ message: 'Which size?' })).content
  })
  const { link, run, parts } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'ask' }] }, 'Large it is.'],
    agent: { tools: [ask] }
  })
  link.speak('order a pizza')
  const { itemId } = await link.next('audio')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(decodeTones(link.audioOf(itemId), 24_000), 'Which size?')
  link.speak('large please')
  t.match(await link.next('answer.end', ({ text }) => text !== ''), { text: 'Large it is.' })
  link.hangUp()
  await run.result()
  t.match(
    (await parts()).find(({ type }) => type === 'input.response'),
    { content: 'large please' }
  )
})

t.test('a call reports itself, its turns and its tools as events', async (t) => {
  const { tool, finish } = slowTool('search')
  finish('2')
  const events = createEventBus()
  const seen: string[] = []
  for (const name of [
    ...(['voice.session.start', 'voice.tool.call', 'voice.tool.result', 'voice.turn'] as const),
    'voice.session.end' as const
  ])
    events.on(name, (payload) => void seen.push(`${name} ${payload.name} ${payload.kind}`))
  const { link, run } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'search' }] }, 'There are two.'],
    agent: { tools: [tool] },
    events
  })
  link.speak('how many are there')
  await link.next('answer.end')
  await link.next('state', listening)
  link.hangUp()
  await run.result()
  t.strictSame(seen, [
    'voice.session.start phone agent',
    'voice.tool.call phone agent',
    'voice.tool.result phone agent',
    'voice.turn phone agent',
    'voice.session.end phone agent'
  ])
})

t.test('hanging up does not wait for an approval, but for a tool in progress', async (t) => {
  const booking = slowTool('book_table', true)
  const search = slowTool('search')
  const { link, run, parts } = await startCall(t, {
    script: [{ toolCalls: [{ toolName: 'search' }, { toolName: 'book_table' }] }],
    agent: { tools: [booking.tool, search.tool] }
  })
  link.speak('book me a table')
  await link.next('approval')
  await search.began
  link.hangUp()
  search.finish('found')
  const ended = await Promise.race([run.result().then(() => true), wait(4_000, false, { ref: false })])
  t.ok(ended, 'the run ends before its deadline')
  t.match(
    (await parts()).filter(({ type }) => type === 'tool.result'),
    [{ toolName: 'search', result: 'found' }]
  )
})
