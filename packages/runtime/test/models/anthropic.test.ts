import { createAnthropic } from '@ai-sdk/anthropic'
import t from 'tap'
import { KEY, testProvider } from '../helpers/provider-suite.ts'
import type { Answer } from '../helpers/provider-server.ts'

const begin = {
  type: 'message_start',
  message: {
    id: 'm1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'm',
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 0 }
  }
}
const end = (reason: string) => [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 3 } },
  { type: 'message_stop' }
]
const says = (...texts: string[]): Answer => [
  begin,
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...texts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  ...end('end_turn')
]
const calls = (name: string, args: object): Answer => [
  begin,
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name, input: {} } },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) }
  },
  ...end('tool_use')
]

/** The two ways in which Anthropic's models are asked for JSON: a format of the output, or a tool of that name. */
const formatIn = (body: Readonly<Record<string, unknown>>) => {
  const {
    output_format: old,
    output_config: config,
    tools
  } = body as {
    output_format?: { schema?: unknown }
    output_config?: { format?: { schema?: unknown } }
    tools?: { name: string; input_schema: unknown }[]
  }
  const tool = tools?.find(({ name }) => name === 'json')
  return { schema: config?.format?.schema ?? old?.schema ?? tool?.input_schema, byTool: tool !== undefined }
}

for (const modelId of ['claude-sonnet-4-5', 'claude-3-5-haiku-latest'])
  t.test(modelId, async (t) => {
    testProvider(t, {
      takesUrls: true,
      model: (origin) => createAnthropic({ baseURL: `${origin}/v1`, apiKey: KEY })(modelId),
      says,
      calls,
      json: ({ body }, value) => (formatIn(body).byTool ? calls('json', value) : says(JSON.stringify(value))),
      refuses: (status, message) => ({
        status,
        json: { type: 'error', error: { type: 'some_error', message } }
      }),
      schemaIn: (body) => formatIn(body).schema
    })
  })
