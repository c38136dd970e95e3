import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { anthropic } from '@ai-sdk/anthropic'
import { openai } from '@ai-sdk/openai'
import { Type } from '@sinclair/typebox'
import { defineTool, type ProviderTool } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

const search: ProviderTool = { type: 'provider', id: 'openai.web_search', args: { maxUses: 2 } }
const usage = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: undefined, reasoning: undefined }
}
const call = (toolCallId: string): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'web_search',
  input: '{"query":"bees"}',
  providerExecuted: true,
  providerMetadata: { openai: { itemId: toolCallId } }
})
const result = (toolCallId: string, more: object = {}): LanguageModelV4StreamPart => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'web_search',
  result: { hits: 3 },
  ...more
})
const text = (delta: string): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta },
  { type: 'text-end', id: 't' }
]
const finish = (unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: undefined },
  usage
})

t.test('calls that the provider executes, and their results, are parts and history', async (t) => {
  const parts = [
    call('ws_1'),
    result('ws_1', { preliminary: true }),
    result('ws_1'),
    ...text('Bees dance.'),
    finish('stop')
  ]
  const { agent, model } = makeAgent([{ parts }, 'As I said.'], { tools: [search] })
  const { context } = makeContext()
  const heard: string[] = []
  for (const event of ['tool.call', 'tool.result'] as const)
    context.events.on(event, ({ toolCallId }) => heard.push(`${event} ${toolCallId}`))
  const run = await collect(agent.stream('Bees?', context))
  t.match(run.ofType('tool.call'), [{ toolCallId: 'ws_1', toolName: 'web_search', args: { query: 'bees' } }])
  t.match(run.ofType('tool.result'), [{ toolCallId: 'ws_1', result: { hits: 3 }, durationMs: Number }])
  t.equal(run.text, 'Bees dance.')
  t.match(run.parts.at(-1), { type: 'finish', finishReason: 'stop' })
  t.strictSame(heard, ['tool.call ws_1', 'tool.result ws_1'])
  t.match(model.calls[0]?.tools, [
    { type: 'provider', id: 'openai.web_search', name: 'web_search', args: { maxUses: 2 } }
  ])

  const { sessionId, stores, events } = context
  const later = makeContext({ sessionId, stores, events })
  await agent.run('Again?', later.context)
  t.match(model.calls[1]?.prompt, [
    { role: 'user' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Bees dance.' },
        { type: 'tool-call', toolCallId: 'ws_1', providerExecuted: true, input: { query: 'bees' } },
        { type: 'tool-result', toolCallId: 'ws_1', output: { type: 'json', value: { hits: 3 } } }
      ]
    },
    { role: 'user' }
  ])
})

t.test('within a turn they go back to the provider as it gave them, beside calls of our own', async (t) => {
  const look = defineTool({ name: 'look', description: 'L', input: Type.Object({}), execute: () => 'seen' })
  const own: LanguageModelV4StreamPart = {
    type: 'tool-call',
    toolCallId: 'own',
    toolName: 'look',
    input: '{}'
  }
  const parts = [call('ws_1'), result('ws_1', { isError: true, result: 'down' }), own, finish('tool-calls')]
  const { agent, model } = makeAgent([{ parts }, 'End.'], { tools: [search, look] })
  const { toolCalls } = await agent.run('Bees?')
  t.match(toolCalls, [
    { toolName: 'web_search', error: { code: 'RUN_ERR_TOOL_FAILED', message: /down/ } },
    { toolName: 'look', result: 'seen' }
  ])
  t.match(model.calls[1]?.prompt.slice(1), [
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          toolCallId: 'ws_1',
          providerExecuted: true,
          providerOptions: { openai: { itemId: 'ws_1' } }
        },
        { type: 'tool-result', toolCallId: 'ws_1', output: { type: 'error-json', value: 'down' } },
        { type: 'tool-call', toolCallId: 'own' }
      ]
    },
    { role: 'tool', content: [{ toolCallId: 'own' }] }
  ])
})

t.test('a result may arrive in a later step than its call', async (t) => {
  const look = defineTool({ name: 'look', description: 'L', input: Type.Object({}), execute: () => 'seen' })
  const own: LanguageModelV4StreamPart = {
    type: 'tool-call',
    toolCallId: 'own',
    toolName: 'look',
    input: '{}'
  }
  const { agent, model } = makeAgent(
    [
      { parts: [call('ws_1'), own, finish('tool-calls')] },
      { parts: [result('ws_1'), ...text('Bees dance.'), finish('stop')] },
      'As I said.'
    ],
    { tools: [search, look] }
  )
  const { context } = makeContext()
  const { toolCalls } = await agent.run('Bees?', context)
  t.match(toolCalls, [
    { toolName: 'web_search', result: { hits: 3 } },
    { toolName: 'look', result: 'seen' }
  ])
  const { sessionId, stores } = context
  await agent.run('Again?', makeContext({ sessionId, stores }).context)
  const pairs = model.calls[2]?.prompt.flatMap(({ role, content }) =>
    role === 'assistant' ? content.filter(({ type }) => type === 'tool-call') : []
  )
  t.match(pairs, [{ toolCallId: 'own' }, { toolCallId: 'ws_1', input: { query: 'bees' } }])
})

t.test('the tools of provider packages are taken, and described', async (t) => {
  const { agent } = makeAgent('x', {
    tools: [openai.tools.webSearch({}), anthropic.tools.codeExecution_20250522()]
  })
  t.strictSame(agent.describe().tools, [
    { name: 'code_execution_20250522', description: 'anthropic.code_execution_20250522' },
    { name: 'web_search', description: 'openai.web_search' }
  ])
  const bad: [tool: unknown, says: RegExp][] = [
    [anthropic.tools.bash_20250124({}), /the provider does not execute "anthropic\.bash_20250124"/],
    ...[
      'search',
      '',
      '.',
      'openai.',
      '.search',
      'openai.web search',
      'openai.web/search',
      'open ai.search'
    ].map((id): [unknown, RegExp] => [
      { type: 'provider', id, args: {} },
      /tools\/0: a tool of a provider has an id such as "openai\.web_search"/
    ]),
    ...[undefined, null, 'many', 5, []].map((args): [unknown, RegExp] => [
      { type: 'provider', id: 'openai.web_search', args },
      /tools\/0: the args of "openai\.web_search" are no object/
    ])
  ]
  for (const [tool, message] of bad)
    t.throws(() => makeAgent('x', { tools: [tool as never] }), { code: 'RUN_ERR_BAD_AGENT', message })
})
