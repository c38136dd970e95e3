import {
  Agent,
  hostedMcpTool,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool
} from '@openai/agents'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

setTracingDisabled(true)

const locate = tool({
  name: 'locate',
  description: 'Where the user is',
  parameters: z.object({ exact: z.boolean() }),
  execute: ({ exact }) => ({ city: 'Oslo', exact })
})
/** How the client knows the tools of the service whose calls it may approve. */
const service = hostedMcpTool({ serverLabel: 'support', serverUrl: 'https://example.com/mcp' })

const script = [
  { ...callsOf(['weather', { city: 'Oslo' }]), text: 'Let me see. ' },
  callsOf(['locate', { exact: true }]),
  'It is clear in Oslo',
  'Still clear'
]

for (const [name, Model] of [
  ['Responses', OpenAIResponsesModel],
  ['Chat Completions', OpenAIChatCompletionsModel]
] as const)
  t.test(`${name}: an agent with tools of its own, tools of the client, and two turns`, async (t) => {
    for (const stream of [false, true]) {
      const { add, model: scripted } = supportAgent(script, { toolCallDeltas: true })
      const { client } = await openAiApp(t, { add })
      const agent = new Agent({
        name: 'Front',
        model: new Model(client() as never, 'support'),
        tools: [locate]
      })
      const ask = async (input: Parameters<typeof run>[1]) => {
        if (!stream) return run(agent, input as string)
        const streamed = await run(agent, input as string, { stream: true })
        for await (const _ of streamed);
        return streamed
      }
      const first = await ask('Weather?')
      t.match(first.finalOutput, /It is clear in Oslo$/)
      t.match(
        JSON.stringify(scripted.calls[2]!.prompt),
        /city\\?":\\?"Oslo\\?",\\?"exact/,
        'the output of the client'
      )
      const second = await ask([...first.history, { role: 'user', content: 'And now?' }])
      t.equal(second.finalOutput, 'Still clear')
      const { prompt } = scripted.calls[3]!
      t.match(JSON.stringify(prompt), name === 'Responses' ? /weather.*locate.*And now/ : /locate.*And now/)
    }
  })

t.test('approvals: given and refused, with the whole history', async (t) => {
  for (const stream of [false, true]) {
    const { add, model: scripted } = supportAgent([
      callsOf(['send', { to: 'ann' }], ['send', { to: 'bob' }]),
      'Done',
      'You are welcome'
    ])
    const { client } = await openAiApp(t, { add })
    const model = new OpenAIResponsesModel(client() as never, 'support')
    const agent = new Agent({ name: 'Front', model, tools: [service] })
    const go = async (input: Parameters<typeof run>[1]) => {
      if (!stream) return run(agent, input as string)
      const streamed = await run(agent, input as string, { stream: true })
      for await (const _ of streamed);
      return streamed
    }
    const asked = await go('Mail both')
    t.equal(asked.interruptions.length, 2)
    const [ann, bob] = asked.interruptions
    asked.state.approve(ann!)
    asked.state.reject(bob!)
    const done = await go(asked.state as never)
    t.equal(done.finalOutput, 'Done')
    const calls = done.newItems.flatMap(({ rawItem }) =>
      rawItem?.type === 'hosted_tool_call' && rawItem.name === 'mcp_call' ? [rawItem] : []
    )
    t.match(calls, [
      { output: 'sent to ann', providerData: { name: 'send', approval_request_id: String } },
      { providerData: { error: /RUN_ERR_APPROVAL_DENIED/, status: 'failed' } }
    ])
    const thanked = await go([...done.history, { role: 'user', content: 'Thanks' }])
    t.equal(thanked.finalOutput, 'You are welcome')
    t.match(JSON.stringify(scripted.calls[2]!.prompt), /Mail both.*sent to ann.*Done.*Thanks/)
  }
})
