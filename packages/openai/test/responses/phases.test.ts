import { callsOf } from '@tools/wires/agents'
import type { Response } from 'openai/resources/responses/responses'
import t from 'tap'
import { locate, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

/** The texts of the messages of a response, with their phases. */
function phasesOf({ output }: Pick<Response, 'output'>) {
  return output.flatMap((item) =>
    item.type === 'message'
      ? [[item.content[0]?.type === 'output_text' && item.content[0].text, item.phase, item.status]]
      : []
  )
}

t.test('what is said beside calls is commentary, and the rest is the answer', async (t) => {
  const { add } = supportAgent([{ text: 'I look', ...callsOf(['weather', { city: 'Oslo' }]) }, 'It is clear'])
  const { client } = await openAiApp(t, { add })
  const stream = await client().responses.create({ model: 'support', input: 'Weather?', stream: true })
  const begun: unknown[] = []
  const done: unknown[] = []
  for await (const event of stream) {
    if (event.type === 'response.output_item.added' && event.item.type === 'message')
      begun.push(event.item.phase)
    if (event.type === 'response.output_item.done') done.push(...phasesOf({ output: [event.item] }))
    if (event.type === 'response.completed') t.same(phasesOf(event.response), done)
  }
  t.same(begun, [undefined, undefined], 'what is under way may still be either')
  t.same(done, [
    ['I look', 'commentary', 'completed'],
    ['It is clear', 'final_answer', 'completed']
  ])
})

t.test('what is said before a call of the client is commentary', async (t) => {
  const { add } = supportAgent([{ text: 'Where are you?', ...callsOf(['locate', {}]) }, 'In Oslo'])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const asked = await openai.responses.create({ model: 'support', input: 'Where am I?', tools: [locate] })
  t.same(phasesOf(asked), [['Where are you?', 'commentary', 'completed']])
  const call = asked.output.find((item) => item.type === 'function_call')!
  const answered = await openai.responses.create({
    model: 'support',
    previous_response_id: asked.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Oslo' }]
  })
  t.same(phasesOf(answered), [['In Oslo', 'final_answer', 'completed']])
})

t.test('a message that is broken off has no phase', async (t) => {
  const run = async function* () {
    yield { type: 'text' as const, text: 'Half a' }
    throw new Error('off')
  }
  const { client } = await openAiApp(t, {
    add: (registry) => registry.add({ kind: 'agent', name: 'support', run: async () => 'x', stream: run })
  })
  const failed = await client().responses.create({ model: 'support', input: 'Hi' })
  t.equal(failed.status, 'failed')
  t.same(phasesOf(failed), [['Half a', undefined, 'incomplete']])
})

t.test('phases of a conversation that the client sends are taken, and others refused', async (t) => {
  const { add, model } = supportAgent(['Four'])
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const input = (phase: unknown) => [
    { role: 'assistant', phase: 'commentary', content: 'I add.' },
    { role: 'assistant', phase, content: 'It is four.' },
    { role: 'user', content: 'Repeat it.' }
  ]
  const ask = (phase: unknown) => openai.responses.create({ model: 'support', input: input(phase) as never })
  t.match(await ask('final_answer'), { status: 'completed' })
  t.match(JSON.stringify(model.calls[0]!.prompt), /I add\..*It is four\..*Repeat it\./)
  await t.rejects(ask('thought'), { status: 400, message: /input\[1\]\.phase must be/ })
})
