import { HumanMessage, type BaseMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

/** The last text of the user in a prompt, and the tools whose results follow it. */
function turnOf(prompt: readonly { role: string; content: unknown }[]) {
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const results = prompt.slice(last + 1).filter(({ role }) => role === 'tool')
  return { asked: JSON.stringify(prompt[last]!.content), results: JSON.stringify(results) }
}

async function served(t: Parameters<typeof openAiApp>[0]) {
  const { add, model } = supportAgent(({ prompt, tools = [] }) => {
    const { asked, results } = turnOf(prompt)
    if (asked.includes('Thanks')) return 'You are welcome'
    if (!results.includes('clear')) return callsOf(['weather', { city: 'Oslo' }])
    if (!results.includes('Storgata') && tools.some(({ name }) => name === 'locate'))
      return { text: 'Let me see', ...callsOf(['locate', { exact: true }], ['locate', { exact: false }]) }
    return { text: ['You are ', 'in Oslo'] }
  })
  const app = await openAiApp(t, { add })
  const llm = new ChatOpenAI({
    model: 'support',
    apiKey: 'none',
    maxRetries: 0,
    configuration: { baseURL: app.baseURL }
  })
  const calls: boolean[] = []
  const locate = tool(
    ({ exact }: { exact: boolean }) => {
      calls.push(exact)
      return 'Storgata 1, Oslo'
    },
    { name: 'locate', description: 'Where the user is', schema: z.object({ exact: z.boolean() }) }
  )
  return { app, model, llm, locate, calls }
}

const kinds = (messages: readonly BaseMessage[]) => messages.map((message) => message.getType())

t.test('a ReAct agent of LangGraph: two turns, with tools on both sides', async (t) => {
  const { app, model, llm, locate, calls } = await served(t)
  const client = createReactAgent({ llm, tools: [locate], prompt: 'Be brief' })
  const first = await client.invoke({ messages: [new HumanMessage('Where am I?')] })
  t.strictSame(kinds(first.messages), ['human', 'ai', 'tool', 'tool', 'ai'])
  t.equal(first.messages.at(-1)!.content, 'You are in Oslo')
  t.strictSame(
    calls.toSorted((a, b) => (a < b ? -1 : 1)),
    [false, true]
  )
  const second = await client.invoke({ messages: [...first.messages, new HumanMessage('Thanks')] })
  t.equal(second.messages.at(-1)!.content, 'You are welcome')
  t.match(
    JSON.stringify(model.calls.at(-1)!.prompt),
    /Be brief.*Let me see.*Storgata 1.*You are in Oslo.*Thanks/
  )
  const { runs } = await app.runs.list({ limit: 10 })
  t.match(
    runs.map(({ status }) => status),
    ['completed', 'completed'],
    'each turn is one run'
  )
})

t.test('a ReAct agent of LangGraph, streamed, and without tools of its own', async (t) => {
  const { llm, locate, calls } = await served(t)
  const texts: string[] = []
  const client = createReactAgent({ llm, tools: [locate] })
  const stream = await client.stream(
    { messages: [new HumanMessage('Where am I?')] },
    { streamMode: 'messages' }
  )
  for await (const [message] of stream) if (message.getType() === 'ai') texts.push(message.text)
  t.equal(texts.join(''), 'Let me seeYou are in Oslo')
  t.strictSame(
    calls.toSorted((a, b) => (a < b ? -1 : 1)),
    [false, true]
  )

  const plain = createReactAgent({ llm, tools: [] })
  const { messages } = await plain.invoke({ messages: [new HumanMessage('Where am I?')] })
  t.strictSame(kinds(messages), ['human', 'ai'], 'tools of the service are its own matter')
  t.equal(messages.at(-1)!.content, 'You are in Oslo')
})
