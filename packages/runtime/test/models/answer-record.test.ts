import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import * as fc from 'fast-check'
import t from 'tap'
import { fromRecord, toRecord, type AnswerRecord } from '../../src/models/model-step.ts'
import { ModelAnswer, type AnswerScope } from '../../src/models/model-answer.ts'
import { toSessionStep } from '../../src/sessions/to-prompt.ts'

const makeScope = (): AnswerScope => ({ callIds: new Set(), providerCalls: new Map() })

function assemble(parts: readonly LanguageModelV4StreamPart[], scope = makeScope()): ModelAnswer {
  const answer = new ModelAnswer(scope)
  for (const part of parts) answer.take(part)
  return answer
}

// What the loop reads of an answer and of the scope that it leaves.
function viewOf(answer: ModelAnswer, { callIds, providerCalls }: AnswerScope) {
  const { text, ended, usage, modelId, stepFinishReason, toolCalls, providerOutcomes } = answer
  const outcomes = toolCalls.map((call) => ({ call, result: `of ${call.toolCallId}`, durationMs: 1 }))
  return {
    message: answer.toMessage(),
    // As JSON too, for its URLs.
    json: JSON.stringify(answer.toMessage()),
    session: toSessionStep(answer, outcomes),
    text,
    ended,
    usage,
    modelId,
    stepFinishReason,
    toolCalls,
    providerOutcomes,
    callIds: [...callIds].toSorted(),
    providerCalls: [...providerCalls.values()].map(({ startedAt: _, ...call }) => call)
  }
}

function roundTrip(answer: ModelAnswer, scope: AnswerScope): ModelAnswer {
  return fromRecord(JSON.parse(JSON.stringify(toRecord(answer))) as AnswerRecord, scope)
}

const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: 'tool_use' },
  usage: {
    inputTokens: { total: 9, noCache: 1, cacheRead: 8, cacheWrite: 2 },
    outputTokens: { total: 5, text: 1, reasoning: 4 }
  }
}
const call = (toolCallId: string, more: object = {}): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input: '{"at":"bees"}',
  ...more
})
const block = (
  type: 'text' | 'reasoning',
  id: string,
  delta: string,
  metadata: {
    start?: SharedV4ProviderMetadata
    delta?: SharedV4ProviderMetadata
    end?: SharedV4ProviderMetadata
  }
): LanguageModelV4StreamPart[] => [
  { type: `${type}-start`, id, ...(metadata.start && { providerMetadata: metadata.start }) },
  { type: `${type}-delta`, id, delta, ...(metadata.delta && { providerMetadata: metadata.delta }) },
  { type: `${type}-end`, id, ...(metadata.end && { providerMetadata: metadata.end }) }
]

const cases: Record<string, { parts: LanguageModelV4StreamPart[]; content: object[] }> = {
  'signatures of Anthropic’s thinking, and redacted thinking': {
    parts: [
      ...block('reasoning', '0', 'Hm.', { delta: { anthropic: { signature: 'sig-1' } } }),
      ...block('reasoning', '1', '', { start: { anthropic: { redactedData: 'redacted-1' } } }),
      call('toolu_1'),
      finish
    ],
    content: [
      { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'sig-1' } } },
      { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'redacted-1' } } },
      { type: 'tool-call', toolCallId: 'toolu_1', input: { at: 'bees' } }
    ]
  },
  'encrypted reasoning and item ids of OpenAI': {
    parts: [
      ...block('reasoning', 'rs_1:0', '', {
        start: { openai: { itemId: 'rs_1', reasoningEncryptedContent: null } },
        end: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc-1' } }
      }),
      ...block('text', 'msg_1', 'I look.', { end: { openai: { itemId: 'msg_1', phase: 'commentary' } } }),
      call('call_1', { providerMetadata: { openai: { itemId: 'fc_1' } } }),
      finish
    ],
    content: [
      { text: '', providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc-1' } } },
      { text: 'I look.', providerOptions: { openai: { itemId: 'msg_1' } } },
      { toolCallId: 'call_1', providerOptions: { openai: { itemId: 'fc_1' } } }
    ]
  },
  'thought signatures of Google, on texts, calls and files': {
    parts: [
      ...block('text', '0', 'See.', { end: { google: { thoughtSignature: 'ts-1' } } }),
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: Buffer.from('a png') },
        providerMetadata: { google: { thoughtSignature: 'ts-2' } }
      },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://example.org/a b') }
      },
      call('', { providerMetadata: { google: { thoughtSignature: 'ts-3' } } }),
      finish
    ],
    content: [
      { text: 'See.', providerOptions: { google: { thoughtSignature: 'ts-1' } } },
      {
        type: 'file',
        data: { type: 'data', data: Buffer.from('a png').toString('base64') },
        providerOptions: { google: { thoughtSignature: 'ts-2' } }
      },
      { type: 'reasoning-file', data: { type: 'data', data: 'aGk=' } },
      { type: 'file', data: { type: 'url', url: new URL('https://example.org/a%20b') } },
      { toolCallId: /^call_/, providerOptions: { google: { thoughtSignature: 'ts-3' } } }
    ]
  },
  'custom content, and calls that the provider executes': {
    parts: [
      {
        type: 'custom',
        kind: 'openai.compaction',
        providerMetadata: { openai: { encryptedContent: 'enc-2' } }
      },
      call('srv_1', { providerExecuted: true, providerMetadata: { openai: { itemId: 'ws_1' } } }),
      { type: 'tool-result', toolCallId: 'srv_1', toolName: 'look', result: { hits: 3 } },
      call('srv_2', { providerExecuted: true, input: 'no JSON' }),
      { type: 'tool-result', toolCallId: 'srv_2', toolName: 'look', result: 'down', isError: true },
      call('srv_3', { providerExecuted: true }),
      finish
    ],
    content: [
      {
        type: 'custom',
        kind: 'openai.compaction',
        providerOptions: { openai: { encryptedContent: 'enc-2' } }
      },
      { type: 'tool-call', providerExecuted: true, providerOptions: { openai: { itemId: 'ws_1' } } },
      { type: 'tool-result', output: { type: 'json', value: { hits: 3 } } },
      { type: 'tool-call', toolCallId: 'srv_2', input: {} },
      { type: 'tool-result', output: { type: 'error-json', value: 'down' } },
      { type: 'tool-call', toolCallId: 'srv_3' }
    ]
  }
}

for (const [name, { parts, content }] of Object.entries(cases))
  t.test(name, async (t) => {
    const scope = makeScope()
    const answer = assemble(parts, scope)
    t.match(answer.toMessage(), { role: 'assistant', content })
    const later = makeScope()
    t.strictSame(viewOf(roundTrip(answer, later), later), viewOf(answer, scope))
  })

t.test('files that were kept are in the session of a rebuilt answer', async (t) => {
  const answer = assemble([finish])
  const kept = { mimeType: 'audio/mpeg', filename: 'a.mp3', size: 3, sha256: 'abc' }
  answer.files.push(
    { type: 'file', fileId: 'f', ...kept },
    { type: 'file', mimeType: 'text/csv', url: 'https://example.org/a' }
  )
  const session = [
    {
      role: 'assistant' as const,
      text: '',
      files: [
        { type: 'audio', ...kept },
        { type: 'file', mimeType: 'text/csv', url: 'https://example.org/a' }
      ]
    }
  ]
  t.strictSame(toSessionStep(roundTrip(answer, makeScope()), []), session)
})

t.test('edited arguments reach the prompt of a rebuilt answer', async (t) => {
  const answer = roundTrip(assemble([call('own'), finish]), makeScope())
  answer.toolCalls[0]!.promptPart.input = { at: 'ants' }
  t.match(answer.toMessage(), { content: [{ toolCallId: 'own', input: { at: 'ants' } }] })
})

t.test('a rebuilt call takes its id, and pairs a result of a later answer', async (t) => {
  const scope = makeScope()
  roundTrip(assemble([call('own'), call('srv', { providerExecuted: true }), finish]), scope)
  const next = new ModelAnswer(scope)
  next.take(call('own'))
  t.match(next.toolCalls[0]?.toolCallId, /^call_/)
  next.take({ type: 'tool-result', toolCallId: 'srv', toolName: 'look', result: 1 })
  t.strictSame(next.providerOutcomes, [
    { call: { toolCallId: 'srv', toolName: 'look', args: { at: 'bees' } }, result: 1 }
  ])
})

const record = (<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { noNullPrototype: true })) as typeof fc.record
// As a provider's package parses it: without negative zero or null prototypes.
const asJson = <T>(values: fc.Arbitrary<T>) => values.map((value) => JSON.parse(JSON.stringify(value)) as T)
const json = asJson(fc.jsonValue()) as fc.Arbitrary<never>
const metadata = fc.option(
  asJson(fc.dictionary(fc.string(), fc.dictionary(fc.string(), json), { maxKeys: 2 })),
  { nil: undefined }
)
const withMetadata = (part: fc.Arbitrary<object>) =>
  fc
    .tuple(part, metadata)
    .map(([fields, providerMetadata]) => ({ ...fields, ...(providerMetadata && { providerMetadata }) }))
const id = fc.constantFrom('a', 'b', 'c', '')
const base64 = fc.uint8Array({ maxLength: 20 })
const streamPart = fc.oneof(
  withMetadata(
    record({ type: fc.constantFrom('text-start', 'reasoning-start', 'text-end', 'reasoning-end'), id })
  ),
  withMetadata(record({ type: fc.constantFrom('text-delta', 'reasoning-delta'), id, delta: fc.string() })),
  withMetadata(
    record({
      type: fc.constant('tool-call'),
      toolCallId: id,
      toolName: fc.oneof(fc.constant('look'), fc.string()),
      input: fc.oneof(fc.json(), fc.string(), fc.constant('{"__proto__":{"x":1}}')),
      providerExecuted: fc.boolean()
    })
  ),
  withMetadata(
    record({
      type: fc.constant('tool-result'),
      toolCallId: id,
      toolName: fc.string(),
      result: json,
      isError: fc.boolean()
    })
  ),
  withMetadata(
    record({
      type: fc.constantFrom('file', 'reasoning-file'),
      mediaType: fc.constant('image/png'),
      data: fc.oneof(
        record({
          type: fc.constant('data'),
          data: fc.oneof(
            base64,
            base64.map((bytes) => Buffer.from(bytes).toString('base64'))
          )
        }),
        record({ type: fc.constant('url'), url: fc.webUrl().map((url) => new URL(url)) })
      )
    })
  ),
  withMetadata(record({ type: fc.constant('custom'), kind: fc.constant('x.y') })),
  record({ type: fc.constant('response-metadata'), modelId: fc.string() })
) as unknown as fc.Arbitrary<LanguageModelV4StreamPart>

t.test('any answer is the same after its record was JSON', async () => {
  fc.assert(
    fc.property(fc.array(streamPart, { maxLength: 12 }), (parts) => {
      const scope = makeScope()
      const answer = assemble([...parts, finish], scope)
      const later = makeScope()
      t.strictSame(viewOf(roundTrip(answer, later), later), viewOf(answer, scope))
    })
  )
})
