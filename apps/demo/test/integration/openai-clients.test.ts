import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import t from 'tap'
import { OPENAI } from '../../src/address.ts'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const app = await buildApp(
  readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' }),
  createOfflineModel({ delay: 0 })
)
t.teardown(() => app.close())
const baseURL = `${await app.listen({ port: 0, host: '127.0.0.1' })}${OPENAI}`
const openai = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })

t.test('a conversation with the assistant, which uses its tools', async (t) => {
  const first = await openai.responses.create({ model: 'assistant', input: 'What is 6 * 7?' })
  t.match(first.output_text, /42/)
  const stream = openai.responses.stream({
    model: 'assistant',
    input: 'What did I ask you before?',
    previous_response_id: first.id
  })
  t.match((await stream.finalResponse()).output_text, /6 \* 7/)
  const docs = await openai.responses.create({ model: 'assistant', input: 'What is a run?' })
  t.ok(docs.output.some(({ type }) => type === 'mcp_call'))
  const models = (await openai.models.list()).data.map(({ id }) => id)
  t.ok(['assistant', 'team/desk', 'workflow/memo'].every((id) => models.includes(id)))
})

t.test('a note is deleted once that is approved', async (t) => {
  const model = 'notes'
  const conversation = 'notes-1'
  await openai.responses.create({ model, conversation, input: 'note: buy milk' })
  const asked = await openai.responses.create({ model, conversation, input: 'delete note 1' })
  const input = asked.output.flatMap((item): ResponseInputItem[] =>
    item.type === 'mcp_approval_request'
      ? [{ type: 'mcp_approval_response', approval_request_id: item.id, approve: true }]
      : []
  )
  const done = await openai.responses.create({ model, conversation, input })
  t.equal(done.output_text, 'Note 1 is gone.')
})

t.test('a form is answered, and a tool of the client serves', async (t) => {
  const asked = await openai.responses.create({ model: 'booking', input: 'Please book a table at Luigi’s.' })
  const form = asked.output.find((item) => item.type === 'function_call' && item.name === 'question')
  const callId = form?.type === 'function_call' ? form.call_id : ''
  const booked = await openai.responses.create({
    model: 'booking',
    previous_response_id: asked.id,
    input: [
      { type: 'function_call_output', call_id: callId, output: JSON.stringify({ people: 4, time: '19:30' }) }
    ]
  })
  t.match(booked.output_text, /^Booked: a table for 4/)

  const runner = openai.chat.completions.runTools({
    model: 'assistant',
    messages: [{ role: 'user', content: 'What is on my shopping list?' }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'shopping_list',
          description: 'Reads my shopping list',
          parameters: { type: 'object', properties: {} },
          parse: JSON.parse,
          function: () => 'milk, bread'
        }
      }
    ]
  })
  t.equal(await runner.finalContent(), 'Your shopping_list says: milk, bread')
})
