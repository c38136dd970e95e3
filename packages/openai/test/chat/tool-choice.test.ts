import type { ScriptedTurn } from '@svc/runtime/testing'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { locate, promptOf, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { locateTool, postCompletion, said } from './helpers/completions.ts'

const model = 'support'
const messages = said('Where am I?')
const tools = [locateTool]

/** A model that calls tools as it must, as those of a vendor do, and then answers. */
function obedient({ toolChoice, prompt, tools = [] }: Parameters<Script>[0]): ScriptedTurn {
  const isAnswered = prompt.at(-1)?.role === 'tool'
  if (toolChoice?.type === 'tool') return callsOf([toolChoice.toolName, argsOf(toolChoice.toolName)])
  if (toolChoice?.type !== 'required') return { text: isAnswered ? 'Done' : 'No tool' }
  const name = isAnswered ? 'locate' : tools[0]!.name
  return callsOf([name, argsOf(name)])
}
type Script = Extract<Parameters<typeof supportAgent>[0], (...args: never[]) => unknown>
const argsOf = (name: string) => (name === 'weather' ? { city: 'Oslo' } : { exact: true })

t.test('tool_choice: tools of the client, and of the agent', async (t) => {
  const { add, model: scripted } = supportAgent(obedient)
  const app = await openAiApp(t, { add })
  const { chat, responses } = app.client()
  const ask = async (more: object) => {
    scripted.calls.length = 0
    const { choices } = await chat.completions.create({ model, messages, ...more })
    return { reason: choices[0]!.finish_reason, ...choices[0]!.message }
  }
  const called = { reason: 'tool_calls', tool_calls: [{ function: { name: 'locate' } }] }
  t.match(await ask({ tools, tool_choice: { type: 'function', function: { name: 'locate' } } }), called)
  t.strictSame(scripted.calls[0]!.toolChoice, { type: 'tool', toolName: 'locate' })
  t.match(
    await ask({ tools, tool_choice: 'required' }),
    called,
    'after a tool of the agent, one of the client'
  )
  t.equal(scripted.calls.length, 2)
  const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'locate' } }] }
  t.match(await ask({ tools, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } }), called)
  t.match(await ask({ tools, tool_choice: 'auto' }), { reason: 'stop', content: 'No tool' })
  t.match(await ask({ tools, tool_choice: 'none' }), { reason: 'stop', content: 'No tool' })
  t.notOk(scripted.calls[0]!.tools!.some(({ name }) => name === 'locate'))

  t.match(await ask({ tool_choice: 'required' }), { reason: 'stop', content: 'Done' })
  t.match(
    scripted.calls.map(({ toolChoice }) => toolChoice?.type),
    ['required', undefined],
    'for the first step'
  )
  const named = { type: 'function', function: { name: 'weather' } }
  t.match(await ask({ tool_choice: named }), { content: 'Done' })
  t.match(scripted.calls[0]!.toolChoice, { toolName: 'weather' })

  const declared = [locate]
  const response = await responses.create({
    model,
    input: 'Where am I?',
    tools: declared,
    tool_choice: { type: 'function', name: 'locate' }
  })
  t.match(response.output, [{ type: 'function_call', name: 'locate' }])
  const required = { model, input: 'Where am I?', tools: declared, tool_choice: 'required' as const }
  t.match((await responses.create(required)).output.at(-1), { type: 'function_call', name: 'locate' })

  for (const [choice, message] of [
    [{ type: 'function', function: { name: 'absent' } }, /no tool "absent"; there are locate, weather/],
    [{ type: 'function' }, /tool_choice must have the name of a tool/],
    ['any', /tool_choice must be/],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'all', tools: [] } }, /must have a list of tools/],
    [{ type: 'custom', custom: { name: 'x' } }, /tool_choice of the type "custom"/]
  ] as const) {
    const refused = await postCompletion(app, { model, messages, tools, tool_choice: choice })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { message } })
  }
})

t.test('functions, the older form of tools', async (t) => {
  const { add } = supportAgent(obedient)
  const app = await openAiApp(t, { add })
  const { chat } = app.client()
  const functions = [locateTool.function]
  const asked = { model, messages, functions, function_call: { name: 'locate' } }
  const {
    data: { choices },
    response
  } = await chat.completions.create(asked).withResponse()
  t.match(choices, [
    {
      finish_reason: 'function_call',
      message: { function_call: { name: 'locate', arguments: '{"exact":true}' } }
    }
  ])
  t.notOk(choices[0]!.message.tool_calls)
  const runId = response.headers.get('x-run-id')!
  for await (const _ of app.runs.parts(runId));
  t.equal((await app.runs.find(runId))!.status, 'canceled', 'no request could answer it')

  const result = { role: 'function' as const, name: 'locate', content: 'Oslo' }
  const next = await chat.completions.create({
    model,
    functions,
    messages: [...messages, choices[0]!.message, result]
  })
  t.match(next.choices, [{ finish_reason: 'stop', message: { content: 'Done' } }])

  const chunks = await Array.fromAsync(await chat.completions.create({ ...asked, stream: true }))
  t.match(chunks.at(-2)!.choices[0]!.delta.function_call, { name: 'locate' })
  t.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'function_call')
})

t.test('stop: the answer ends before the first stop text, in any form', async (t) => {
  const script = [
    { text: ['One ', 'two EN', 'D three', ' END four'], ...callsOf(['weather', { city: 'Oslo' }]) }
  ]
  const { add, model: scripted } = supportAgent(() => script[0]!)
  const app = await openAiApp(t, { add })
  const { chat, responses } = app.client()
  const stop = ['Observation:', 'END', '\n']
  const { data, response } = await chat.completions.create({ model, messages, stop }).withResponse()
  const [{ message, finish_reason: reason }] = data.choices as [(typeof data.choices)[0]]
  t.match({ reason, message }, { reason: 'stop', message: { content: 'One two ' } })
  t.match(data.usage, { total_tokens: 14 }, 'of all that the model has made')
  t.strictSame(scripted.calls[0]!.stopSequences, ['Observation:', 'END'], 'no provider takes a blank one')
  const log = await Array.fromAsync(app.runs.parts(response.headers.get('x-run-id')!))
  t.notMatch(JSON.stringify(log), /EN|three|four|weather/)

  const streamed = await chat.completions.create({ model, messages, stop: 'END', stream: true })
  const chunks = await Array.fromAsync(streamed)
  t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'One two ')
  t.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'stop')

  const extra = { stop: ['END'] }
  const responded = await responses.create({ model, input: 'Where am I?', ...extra })
  t.equal(responded.output_text, 'One two ')
  t.equal((await responses.retrieve(responded.id)).output_text, 'One two ', 'later too')
  const events = await Array.fromAsync(
    await responses.create({ model, input: 'Where am I?', stream: true, ...extra })
  )
  t.notMatch(JSON.stringify(events), /EN|three/)

  t.comment('what only looks like the beginning of a stop text is said')
  const near = await chat.completions.create({ model, messages, stop: ['fourth', 'D tree'] })
  t.equal(near.choices[0]!.message.content?.startsWith('One two END three END four'), true)

  for (const [bad, param] of [
    [['1', '2', '3', '4', '5'], 'stop'],
    ['x'.repeat(257), 'stop'],
    [5, 'stop']
  ] as const) {
    const refused = await postCompletion(app, { model, messages, stop: bad })
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { param } })
  }
})

t.test('shapes of messages that clients send', async (t) => {
  const { add, model: scripted } = supportAgent(() => 'Done')
  const app = await openAiApp(t, { add })
  const ask = async (body: object, path = '/chat/completions') => {
    scripted.calls.length = 0
    const response = await fetch(`${app.baseURL}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      // As Windows' tools write JSON.
      body: `\ufeff${JSON.stringify({ model, ...body })}`
    })
    t.equal(response.status, 200, await response.clone().text())
    return scripted.calls[0]!.prompt
  }
  const call = { id: 'c1', type: 'function', function: { name: 'locate', arguments: '{"exact": tr' } }
  const broken = { role: 'assistant', content: null, tool_calls: [call] }

  const first = await ask({
    tools,
    messages: [...messages, broken, { role: 'tool', tool_call_id: 'c1', content: null }, ...said('And now?')]
  })
  t.match(first, [{ role: 'user' }, { content: [{ input: {} }] }, { role: 'tool' }, { role: 'user' }])
  const items = [
    { role: 'user', content: 'Where am I?' },
    { type: 'function_call', call_id: 'c1', name: 'locate', arguments: '{"exact": tr' },
    { type: 'function_call_output', call_id: 'c1', output: 'Invalid arguments' },
    { role: 'user', content: 'And now?' }
  ]
  t.match((await ask({ input: items }, '/responses'))[1], { content: [{ type: 'tool-call', input: {} }] })

  const prefilled = [...messages, { role: 'assistant', content: 'You are in' }]
  t.match(promptOf({ prompt: await ask({ messages: prefilled }) }), [
    'Where am I?',
    'You are in',
    /^Continue/
  ])
  const placeholder = [...messages, { role: 'assistant', content: '' }]
  t.strictSame(promptOf({ prompt: await ask({ messages: placeholder }) }), ['Where am I?'])
  t.match((await ask({ input: prefilled }, '/responses')).at(-2), { role: 'assistant' })

  t.match(await ask({ messages }, '/chat/completions?api-version=2024-10-21'), [{ role: 'user' }])
  t.match(await ask({ input: 'Hi' }, '/responses?api-version=preview'), [{ role: 'user' }])
  const models = await fetch(`${app.baseURL}/models?api-version=2024-10-21`)
  t.equal(models.status, 200)
})
