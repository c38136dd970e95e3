import { Type } from '@sinclair/typebox'
import { Agent, Team, Workflow } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { zodTextFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { openAiApp } from '../helpers/openai-app.ts'
import { promptOf, supportAgent } from '../helpers/agents.ts'

t.test('a response as JSON: text, usage and the parameters of its request', async (t) => {
  const { add, model } = supportAgent([{ text: ['Hel', 'lo'] }])
  const { client } = await openAiApp(t, { add })
  const { _request_id: _, ...response } = await client().responses.create({
    model: 'support',
    input: 'Hi',
    instructions: 'Be brief.',
    temperature: 0.2,
    metadata: { ticket: '7' },
    user: 'ann'
  })
  t.equal(response.output_text, 'Hello')
  t.match(response, {
    id: /^resp_/,
    object: 'response',
    status: 'completed',
    model: 'support',
    instructions: 'Be brief.',
    temperature: 0.2,
    metadata: { ticket: '7' },
    user: 'ann',
    previous_response_id: null,
    usage: {
      input_tokens: 10,
      output_tokens: 2,
      total_tokens: 12,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 }
    },
    output: [{ type: 'message', role: 'assistant', status: 'completed' }]
  })
  t.match(promptOf(model.calls[0]!), [/Be brief/, 'Hi'])

  const later = await client().responses.retrieve(response.id)
  t.same(later.output, response.output)
  t.match(
    later,
    { metadata: { ticket: '7' }, instructions: null, temperature: 1 },
    'they are of the reply alone'
  )
})

t.test('a stream, and the events with their names', async (t) => {
  const { add } = supportAgent([{ text: ['Hel', 'lo'] }])
  const { client, baseURL } = await openAiApp(t, { add })
  const stream = client().responses.stream({ model: 'support', input: 'Hi' })
  const deltas: string[] = []
  stream.on('response.output_text.delta', ({ delta }) => void deltas.push(delta))
  const final = await stream.finalResponse()
  t.equal(final.output_text, 'Hello')
  t.same(deltas, ['Hel', 'lo'])
  t.equal(final.status, 'completed')

  const response = await fetch(`${baseURL}/responses/${final.id}?stream=true`)
  t.match(response.headers.get('content-type'), /text\/event-stream/)
  const text = await response.text()
  const messages = text.split('\n\n')
  t.match(messages[0], /^event: response\.created\ndata: \{"type":"response\.created","sequence_number":0,/)
  t.equal(messages.at(-2), 'data: [DONE]')
  t.notMatch(text, /^id:/m)
})

t.test('teams and workflows are models too', async (t) => {
  const { client } = await openAiApp(t, {
    add(registry) {
      const ada = new Agent({ name: 'ada', model: scriptedModel('Ada says'), registry })
      const bob = new Agent({ name: 'bob', model: scriptedModel('Bob says'), registry })
      new Team({ name: 'crew', mode: 'sequence', members: [ada, bob], registry })
      new Workflow({ name: 'flow', registry, steps: (flow) => flow.step('first', bob) })
    }
  })
  const crew = await client().responses.create({ model: 'team/crew', input: 'Go' })
  t.match(crew, { output_text: 'Bob says', model: 'team/crew' })
  const flow = await client().responses.create({ model: 'workflow/flow', input: 'Go', stream: false })
  t.match(flow, { status: 'completed', model: 'workflow/flow' })
  t.equal((await client().responses.create({ model: 'agent/ada', input: 'Go' })).output_text, 'Ada says')

  const models = await client().models.list()
  t.same(models.data.map(({ id }) => id).toSorted(), ['ada', 'bob', 'team/crew', 'workflow/flow'])
  t.match(await client().models.retrieve('ada'), { id: 'ada', object: 'model' })
  t.match(await client().models.retrieve('team/crew'), { id: 'team/crew' })
  await t.rejects(client().models.retrieve('nobody'), { status: 404, code: 'OPENAI_ERR_UNKNOWN_MODEL' })
})

t.test('structured output: of the agent, or of the request', async (t) => {
  const Place = z.object({ city: z.string() })
  const output = Type.Object({ city: Type.String() })
  const form = scriptedModel([{ text: '{"city":"Oslo"}' }, { text: '{"city":"Rome"}' }])
  const { add, model } = supportAgent([{ text: '{"city":"Bern"}' }])
  const { client } = await openAiApp(t, {
    add(registry) {
      add(registry)
      new Agent({ name: 'form', model: form, registry, output })
    }
  })
  const text = { format: zodTextFormat(Place, 'place') }
  const own = await client().responses.parse({ model: 'form', input: 'Where?', text })
  t.same(own.output_parsed, { city: 'Oslo' })
  t.match(own.text?.format, { type: 'json_schema', name: 'place' })
  const stream = client().responses.stream({ model: 'form', input: 'Where?', text })
  t.same((await stream.finalResponse()).output_parsed, { city: 'Rome' })
  const asked = await client().responses.parse({ model: 'support', input: 'Where?', text })
  t.same(asked.output_parsed, { city: 'Bern' })
  t.match(promptOf(model.calls[0]!)[0], /JSON Schema.*"city"/)

  const { client: strict } = await openAiApp(t, { add, options: { clientInstructions: false } })
  await t.rejects(strict().responses.create({ model: 'support', input: 'Where?', text }), {
    status: 400,
    code: 'OPENAI_ERR_UNSUPPORTED'
  })
})

t.test('a workflow that says nothing has its value as its text', async (t) => {
  const { client } = await openAiApp(t, {
    add: (registry) =>
      new Workflow({ name: 'sum', registry, steps: (flow) => flow.step('add', () => ({ sum: 3 })) })
  })
  const response = await client().responses.create({ model: 'workflow/sum', input: 'Go' })
  t.same(JSON.parse(response.output_text), { sum: 3 })
})

t.test('reasoning is an item of its own', async (t) => {
  const { add } = supportAgent([{ reasoning: ['I must ', 'think'], text: 'Done' }])
  const { client } = await openAiApp(t, { add })
  const stream = client().responses.stream({ model: 'support', input: 'Hi' })
  const thoughts: string[] = []
  stream.on('response.reasoning_text.delta', ({ delta }) => void thoughts.push(delta))
  const { output } = await stream.finalResponse()
  t.same(thoughts, ['I must ', 'think'])
  t.match(output, [
    { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'I must think' }] },
    { type: 'message', content: [{ text: 'Done' }] }
  ])
})
