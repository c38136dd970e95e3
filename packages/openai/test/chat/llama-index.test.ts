import { OpenAI, OpenAIAgent } from '@llamaindex/openai'
import { tool } from 'llamaindex'
import { callsOf } from '@tools/wires/agents'
import t from 'tap'
import { z } from 'zod'
import { promptOf, supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

/** An agent that uses a tool of its own, then one of its client, and answers. */
function traveller() {
  return supportAgent(({ prompt, tools = [] }) => {
    const results = JSON.stringify(prompt.filter(({ role }) => role === 'tool'))
    if (!results.includes('clear')) return callsOf(['weather', { city: 'Oslo' }])
    if (!results.includes('Storgata') && tools.some(({ name }) => name === 'locate'))
      return { text: 'Let me see. ', ...callsOf(['locate', { exact: true }]) }
    return { text: ['You are ', 'in Oslo'] }
  })
}

async function served(t: Parameters<typeof openAiApp>[0]) {
  const { add, model } = traveller()
  const app = await openAiApp(t, { add })
  const llm = new OpenAI({ model: 'support', apiKey: 'none', baseURL: app.baseURL, maxRetries: 0 })
  const served: boolean[] = []
  const locate = tool({
    name: 'locate',
    description: 'Where the user is',
    parameters: z.object({ exact: z.boolean() }),
    execute: ({ exact }) => {
      served.push(exact)
      return 'Storgata 1, Oslo'
    }
  })
  return { app, model, llm, locate, served }
}

t.test('LlamaIndex: chat and stream', async (t) => {
  const { llm, model } = await served(t)
  const messages = [
    { role: 'system' as const, content: 'Be brief' },
    { role: 'user' as const, content: 'Where am I?' }
  ]
  const { message } = await llm.chat({ messages })
  t.strictSame(message, { role: 'assistant', content: 'You are in Oslo', options: {} })
  const chunks = await Array.fromAsync(await llm.chat({ messages, stream: true }))
  t.equal(chunks.map(({ delta }) => delta).join(''), 'You are in Oslo')
  t.match(promptOf(model.calls.at(-1)!)[0], /Be brief/)
})

t.test('LlamaIndex: an agent with a tool of its own, and the history of two turns', async (t) => {
  const { app, llm, locate, served: calls, model } = await served(t)
  const client = new OpenAIAgent({ llm, tools: [locate] as never })
  const first = await client.chat({ message: 'Where am I?' })
  t.equal(first.message.content, 'You are in Oslo')
  t.strictSame(calls, [true])
  const second = await client.chat({ message: 'And now?' })
  t.equal(second.message.content, 'You are in Oslo')
  t.match(JSON.stringify(model.calls.at(-1)!.prompt), /Storgata 1.*You are in Oslo.*And now\?/)
  const { runs } = await app.runs.list({ limit: 10 })
  t.match(
    runs.map(({ status }) => status),
    ['completed', 'completed'],
    'each turn is one run'
  )

  const streamed = await client.chat({ message: 'Once again?', stream: true })
  const texts = await Array.fromAsync(streamed, ({ delta }) => delta)
  t.equal(texts.join(''), 'You are in Oslo')
})
