import { HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const script = [
  { ...callsOf(['weather', { city: 'Oslo' }]), text: 'Let me see. ' },
  callsOf(['locate', { exact: true }]),
  'It is clear in Oslo',
  'Still clear'
]
const locate = tool(({ exact }) => JSON.stringify({ city: 'Oslo', exact }), {
  name: 'locate',
  description: 'Where the user is',
  schema: z.object({ exact: z.boolean() })
})

t.test('invoke and stream: what the agent has called is nothing for the client to call', async (t) => {
  const { add } = supportAgent((_, index) =>
    index % 2 === 0 ? callsOf(['weather', { city: 'Oslo' }]) : 'It is clear'
  )
  const { baseURL } = await openAiApp(t, { add })
  const model = new ChatOpenAI({
    model: 'support',
    apiKey: 'none',
    useResponsesApi: true,
    maxRetries: 0,
    configuration: { baseURL }
  })
  const answer = await model.invoke('Weather?')
  t.same([answer.text, answer.tool_calls], ['It is clear', []])
  t.match(answer.additional_kwargs['tool_outputs'], [
    { type: 'mcp_call', name: 'weather', output: /clear/, status: 'completed' }
  ])
  let streamed
  for await (const chunk of await model.stream('Weather?'))
    streamed = streamed === undefined ? chunk : streamed.concat(chunk)
  t.same([streamed!.text, streamed!.tool_calls], ['It is clear', []])
})

t.test('a ReAct agent of LangGraph: tools of both sides, and a second turn', async (t) => {
  for (const streaming of [false, true]) {
    const { add, model: scripted } = supportAgent(script)
    const { baseURL } = await openAiApp(t, { add })
    const llm = new ChatOpenAI({
      model: 'support',
      apiKey: 'none',
      useResponsesApi: true,
      maxRetries: 0,
      streaming,
      configuration: { baseURL }
    })
    const agent = createReactAgent({ llm, tools: [locate] })
    const first = await agent.invoke({ messages: [new HumanMessage('Weather?')] })
    t.match(first.messages.at(-1)!.text, /It is clear in Oslo$/)
    t.equal(
      first.messages.filter((message) => message.type === 'tool').length,
      1,
      'it has called its own only'
    )
    const second = await agent.invoke({ messages: [...first.messages, new HumanMessage('And now?')] })
    t.equal(second.messages.at(-1)!.text, 'Still clear')
    t.match(JSON.stringify(scripted.calls[3]!.prompt), /Weather\?.*sky.*locate.*And now\?/)
  }
})
