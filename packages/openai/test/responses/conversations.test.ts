import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { openAiApp } from '../helpers/openai-app.ts'
import { promptOf, supportAgent } from '../helpers/agents.ts'

const model = 'support'

t.test('several turns, and branches from an earlier response', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const first = await openai.responses.create({ model, input: 'one' })
  const second = await openai.responses.create({ model, input: 'two', previous_response_id: first.id })
  t.equal(second.previous_response_id, first.id)
  t.same(promptOf(scripted.calls[1]!), ['one', 'answer 0', 'two'])
  const branch = await openai.responses.create({ model, input: 'zwei', previous_response_id: first.id })
  t.same(promptOf(scripted.calls[2]!), ['one', 'answer 0', 'zwei'], 'the other branch is not in the prompt')
  await openai.responses.create({ model, input: 'three', previous_response_id: second.id })
  t.same(promptOf(scripted.calls[3]!), ['one', 'answer 0', 'two', 'answer 1', 'three'])
  await openai.responses.create({ model, input: 'drei', previous_response_id: branch.id })
  t.same(promptOf(scripted.calls[4]!), ['one', 'answer 0', 'zwei', 'answer 2', 'drei'])
  const found = await openai.responses.retrieve(branch.id)
  t.match(found, { previous_response_id: first.id, conversation: { id: first.conversation!.id } })
})

t.test('a conversation is a session', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client, runs } = await openAiApp(t, { add })
  const openai = client()
  const conversation = 'conv-1'
  const first = await openai.responses.create({ model, input: 'one', conversation })
  t.same(first.conversation, { id: conversation })
  await openai.responses.create({ model, input: 'two', conversation: { id: conversation } })
  t.same(promptOf(scripted.calls[1]!), ['one', 'answer 0', 'two'])
  t.equal((await runs.find(first.id.slice('resp_'.length)))!.sessionId, conversation)
  await t.rejects(
    openai.responses.create({ model, input: 'x', conversation, previous_response_id: first.id }),
    { status: 400, code: 'OPENAI_ERR_BAD_REQUEST', message: /exclude/ }
  )
})

t.test('a client that keeps the conversation sends all of it, with instructions among it', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const response = await openai.responses.create({
    model,
    input: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { type: 'message', role: 'assistant', content: 'first' },
      { role: 'user', content: [{ type: 'input_text', text: 'two' }] }
    ]
  })
  t.equal(response.output_text, 'answer 0')
  t.match(promptOf(scripted.calls[0]!), [/Be brief\./, 'one', 'first', 'two'])
  await t.rejects(
    openai.responses.create({ model, input: 'three', previous_response_id: response.id }),
    { status: 400, code: 'OPENAI_ERR_NOT_CONTINUABLE' },
    'the service does not keep that conversation'
  )
})

t.test('new messages of the user are one', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client } = await openAiApp(t, { add })
  const openai = client()
  const { id } = await openai.responses.create({ model, input: 'one' })
  const input = [
    { role: 'user', content: 'two' },
    { role: 'user', content: 'three' }
  ] as const
  await openai.responses.create({ model, input: [...input], previous_response_id: id })
  t.same(promptOf(scripted.calls[1]!), ['one', 'answer 0', 'two\n\nthree'])
  await t.rejects(
    openai.responses.create({
      model,
      previous_response_id: id,
      input: [{ role: 'user', content: 'x' }, { role: 'assistant', content: 'y' }, ...input]
    }),
    { status: 400, code: 'OPENAI_ERR_BAD_REQUEST' }
  )
})

t.test('what is not stored is not found later', async (t) => {
  const { add } = supportAgent('Hello')
  const { client, runs } = await openAiApp(t, { add })
  const openai = client()
  const response = await openai.responses.create({ model, input: 'Hi', store: false })
  const { id } = response
  t.match(response, { store: false, output_text: 'Hello' })
  t.ok(await runs.find(id.slice('resp_'.length)), 'the service has its log')
  const unknown = { status: 404, code: 'OPENAI_ERR_UNKNOWN_RESPONSE' }
  await t.rejects(openai.responses.retrieve(id), unknown)
  await t.rejects(openai.responses.inputItems.list(id), unknown)
  await t.rejects(openai.responses.cancel(id), unknown)
  await t.rejects(openai.responses.delete(id), unknown)
  await t.rejects(openai.responses.create({ model, input: 'And?', previous_response_id: id }), unknown)
  await t.rejects(openai.responses.create({ model, input: 'Hi', store: false, background: true }), {
    status: 400,
    code: 'OPENAI_ERR_BAD_REQUEST'
  })
})

t.test('a response of another model is not continued', async (t) => {
  const { client } = await openAiApp(t, {
    add(registry) {
      for (const name of ['ada', 'bob']) new Agent({ name, model: scriptedModel('Hi'), registry })
    }
  })
  const { id } = await client().responses.create({ model: 'ada', input: 'Hi' })
  await t.rejects(client().responses.create({ model: 'bob', input: 'Hi', previous_response_id: id }), {
    status: 400,
    code: 'OPENAI_ERR_BAD_REQUEST'
  })
})

t.test('a response is deleted, and the conversation stays', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client, runs } = await openAiApp(t, { add })
  const openai = client()
  const { id, conversation } = await openai.responses.create({ model, input: 'one' })
  await openai.responses.delete(id)
  t.equal(await runs.find(id.slice('resp_'.length)), undefined)
  const unknown = { status: 404, code: 'OPENAI_ERR_UNKNOWN_RESPONSE', type: 'not_found_error' }
  await t.rejects(openai.responses.retrieve(id), unknown)
  await t.rejects(openai.responses.delete(id), unknown)
  await openai.responses.create({ model, input: 'two', conversation: conversation!.id })
  t.same(promptOf(scripted.calls[1]!), ['one', 'answer 0', 'two'])
})

t.test('the same Idempotency-Key is the same response', async (t) => {
  const { add, model: scripted } = supportAgent((_, index) => `answer ${index}`)
  const { client } = await openAiApp(t, { add })
  const create = (input: string, key = 'k-1') =>
    client().responses.create({ model, input }, { headers: { 'Idempotency-Key': key } })
  const first = await create('one')
  t.equal((await create('one')).id, first.id)
  await t.rejects(create('two'), { status: 422, code: 'RUN_ERR_KEY_REUSED' })
  await t.rejects(create('one', 'x'.repeat(300)), { status: 400, code: 'OPENAI_ERR_BAD_REQUEST' })
  t.equal(scripted.calls.length, 1)
})
