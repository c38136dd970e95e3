import { openaiResponses } from '@llamaindex/openai'
import { callsOf } from '@tools/wires/agents'
import { tool, type ChatMessage, type ToolCallLLMMessageOptions } from 'llamaindex'
import t from 'tap'
import { z } from 'zod'
import { supportAgent } from '../helpers/agents.ts'
import { openAiApp } from '../helpers/openai-app.ts'

const locate = tool({
  name: 'locate',
  description: 'Where the user is',
  parameters: z.object({ exact: z.boolean() }),
  execute: ({ exact }) => JSON.stringify({ city: 'Oslo', exact })
})

t.test('LlamaIndex: the tools of the client only, chat and stream', async (t) => {
  const script = [
    callsOf(['weather', { city: 'Oslo' }]),
    callsOf(['locate', { exact: true }]),
    'It is clear in Oslo'
  ]
  const { add } = supportAgent((_, index) => script[index % 3]!)
  const { baseURL } = await openAiApp(t, { add })
  const llm = openaiResponses({ model: 'support' as never, apiKey: 'none', baseURL, maxRetries: 0 })
  const messages: ChatMessage<ToolCallLLMMessageOptions>[] = [{ role: 'user', content: 'Weather?' }]
  const { message } = await llm.chat({ messages, tools: [locate] })
  const calls = (message.options as { toolCall: { id: string; name: string; input: string }[] }).toolCall
  t.match(calls, [{ name: 'locate' }])
  t.equal(calls.length, 1)
  const [{ id } = { id: '' }] = calls
  messages.push(message as never, {
    role: 'user',
    content: '{"city":"Oslo"}',
    options: { toolResult: { id, result: '{"city":"Oslo"}', isError: false } }
  })
  const second = await llm.chat({ messages, tools: [locate] })
  t.match(second.message.content, 'It is clear in Oslo')

  const stream = await llm.chat({
    messages: [{ role: 'user', content: 'Weather?' }],
    tools: [locate],
    stream: true
  })
  const names = new Set<string>()
  for await (const { options } of stream)
    for (const { name } of (options as ToolCallLLMMessageOptions & { toolCall?: { name: string }[] })
      ?.toolCall ?? [])
      names.add(name)
  t.same([...names], ['locate'])
})
