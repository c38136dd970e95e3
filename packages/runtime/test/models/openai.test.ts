import { createOpenAI } from '@ai-sdk/openai'
import t from 'tap'
import { KEY, testProvider } from '../helpers/provider-suite.ts'
import type { Answer } from '../helpers/provider-server.ts'

const message = { id: 'm1', type: 'message', status: 'completed', role: 'assistant', content: [] }
const created = { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'm' } }
const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 }
const completed = { type: 'response.completed', response: { usage, incomplete_details: null } }
const says = (...texts: string[]): Answer => [
  created,
  { type: 'response.output_item.added', output_index: 0, item: message },
  ...texts.map((delta) => ({ type: 'response.output_text.delta', item_id: 'm1', delta })),
  { type: 'response.output_item.done', output_index: 0, item: message },
  completed
]

// The Responses API, which `openai('…')` speaks.
testProvider(t, {
  takesUrls: true,
  model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey: KEY })('gpt-5-mini'),
  says,
  calls: (name, args) => {
    const item = {
      type: 'function_call',
      id: 'f1',
      call_id: 'c1',
      name,
      arguments: JSON.stringify(args),
      status: 'completed'
    }
    return [
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'f1',
        output_index: 0,
        delta: JSON.stringify(args)
      },
      { type: 'response.output_item.done', output_index: 0, item },
      completed
    ]
  },
  json: (_asked, value) => says(JSON.stringify(value)),
  refuses: (status, text) => ({
    status,
    json: { error: { message: text, type: 'some_error', param: null, code: null } }
  }),
  schemaIn: (body) => (body['text'] as { format?: { schema?: unknown } } | undefined)?.format?.schema
})
