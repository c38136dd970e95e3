import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI, openai } from '@ai-sdk/openai'
import { Agent, type AgentOptions } from '@svc/runtime'
import t, { type Test } from 'tap'
import { collect } from '../helpers/make-agent.ts'
import { startProviderServer, type Answer } from '../helpers/provider-server.ts'

const apiKey = 'sk-test-4711aB'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452'.repeat(4), 'hex')

async function run(
  t: Test,
  model: (origin: string) => AgentOptions['model'],
  answer: Answer,
  input: unknown = 'Bees?',
  tools: AgentOptions['tools'] = []
) {
  const { origin } = await startProviderServer(t, [answer])
  const agent = new Agent({ name: 'a', model: model(origin), tools, register: false })
  const { ofType, error, parts } = await collect(agent.stream(input))
  t.equal(error, undefined)
  const citations = ofType('citation').map(({ type: _, ...citation }) => citation)
  return { citations, files: ofType('file'), results: ofType('tool.result'), parts }
}

const responses = (origin: string) => createOpenAI({ baseURL: `${origin}/v1`, apiKey })('gpt-5-mini')
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_760_000_000,
  model: 'gpt-5-mini',
  output: []
}
const completed = {
  type: 'response.completed',
  response: {
    ...response,
    incomplete_details: null,
    usage: { input_tokens: 9, output_tokens: 9, total_tokens: 18 }
  }
}

t.test('annotations of OpenAI are citations, once', async (t) => {
  const annotations = [
    {
      type: 'url_citation',
      url: 'https://example.org/bees',
      title: 'Bees',
      start_index: 0,
      end_index: 11
    },
    { type: 'file_citation', file_id: 'file-1', filename: 'bees.pdf', index: 5 }
  ]
  const item = { id: 'msg_1', type: 'message', role: 'assistant' }
  const { citations } = await run(t, responses, [
    { type: 'response.created', response },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] }
    },
    {
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'Bees dance.'
    },
    ...annotations.map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      annotation_index,
      annotation
    })),
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        ...item,
        status: 'completed',
        content: [{ type: 'output_text', text: 'Bees dance.', annotations }]
      }
    },
    completed
  ])
  t.strictSame(citations, [
    { url: 'https://example.org/bees', title: 'Bees' },
    { documentId: 'file-1', title: 'bees.pdf' }
  ])
})

t.test('an image of OpenAI’s image generation is a file', async (t) => {
  const item = { id: 'ig_1', type: 'image_generation_call' }
  const { files, results, parts } = await run(
    t,
    responses,
    [
      { type: 'response.created', response },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...item, status: 'completed', result: PNG.toString('base64') }
      },
      completed
    ],
    'Draw a bee',
    [openai.tools.imageGeneration({})]
  )
  t.match(files, [{ mimeType: 'image/png', size: PNG.length, fileId: String, toolCallId: 'ig_1' }])
  t.match(results, [{ providerExecuted: true, result: { result: { type: 'image', size: PNG.length } } }])
  t.notMatch(JSON.stringify(parts), PNG.toString('base64'))
})

t.test('citations of Anthropic have the quoted words', async (t) => {
  const cite = (citation: object) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'citations_delta', citation }
  })
  const location = {
    type: 'char_location',
    document_index: 0,
    document_title: 'Dances',
    file_id: null,
    start_char_index: 0
  }
  const usage = { input_tokens: 9, output_tokens: 1 }
  const { citations } = await run(
    t,
    (origin) => createAnthropic({ baseURL: `${origin}/v1`, apiKey })('claude-sonnet-4-5'),
    [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage
        }
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Bees dance.' } },
      cite({ ...location, cited_text: 'They dance.', end_char_index: 11 }),
      cite({ ...location, cited_text: 'They hum.', end_char_index: 9 }),
      cite({
        type: 'web_search_result_location',
        url: 'https://example.org/bees',
        title: 'Bees',
        cited_text: 'In the hive.',
        encrypted_index: 'Eo8BCioIAhgBIiQ='
      }),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
      { type: 'message_stop' }
    ],
    [
      { type: 'text', text: 'Bees?' },
      {
        type: 'file',
        mimeType: 'text/plain',
        filename: 'dances.txt',
        data: Buffer.from('They dance.').toString('base64')
      }
    ]
  )
  t.match(citations, [
    { title: 'Dances', quote: 'They dance.' },
    { title: 'Dances', quote: 'They hum.' },
    { url: 'https://example.org/bees', title: 'Bees', quote: 'In the hive.' }
  ])
  t.equal(citations.length, 3)
})

t.test('Google’s grounding is citations, its images are files', async (t) => {
  const { citations, files } = await run(
    t,
    (origin) => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })('gemini-2.5-flash-image'),
    [
      {
        candidates: [
          {
            content: {
              role: 'model',
              parts: [
                { text: 'A bee:' },
                { inlineData: { mimeType: 'image/png', data: PNG.toString('base64') } }
              ]
            },
            index: 0,
            finishReason: 'STOP',
            groundingMetadata: {
              groundingChunks: [
                { web: { uri: 'https://example.org/bees', title: 'Bees' } },
                { web: { uri: 'https://example.org/bees', title: 'Bees' } }
              ]
            }
          }
        ],
        usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 4, totalTokenCount: 8 }
      }
    ]
  )
  t.strictSame(citations, [{ url: 'https://example.org/bees', title: 'Bees' }])
  t.match(files, [{ mimeType: 'image/png', size: PNG.length, fileId: String }])
})
