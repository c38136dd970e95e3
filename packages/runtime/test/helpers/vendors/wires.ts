import { crc32 } from 'node:zlib'

/** What a vendor answers. */
export interface Said {
  /** Increments of the text. */
  readonly texts?: readonly string[]
  readonly call?: { readonly id: string; readonly name: string; readonly args: string }
  /** The vendor's own word for why it stopped; default: that of a complete answer. */
  readonly reason?: string
  /** Tokens as the vendor counts them; `none` leaves the counts out. */
  readonly usage?: 'none' | undefined
  /** Breaks off with an overload, where the other texts would come. */
  readonly overloaded?: boolean
}

/** The pieces of a reply in the format of one vendor. */
export interface Wire {
  readonly contentType: string
  write(said: Said): (string | Uint8Array)[]
}

const event = (data: object) => {
  const { type } = data as { type?: string }
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`
}

const sse = (write: (said: Said) => object[]): Wire => ({
  contentType: 'text/event-stream',
  write: (said) => write(said).map(event)
})

/** https://docs.claude.com/en/docs/build-with-claude/streaming */
export const messages = sse(({ texts = [], call, reason, usage, overloaded }) => {
  const blocks = [
    ...(texts.length > 0 ? [[{ type: 'text', text: '' }, texts.map(toTextDelta)] as const] : []),
    ...(call === undefined
      ? []
      : [
          [
            { type: 'tool_use', id: call.id, name: call.name, input: {} },
            [{ type: 'input_json_delta', partial_json: call.args }]
          ] as const
        ])
  ]
  const counted = usage === 'none' ? {} : { output_tokens_details: { thinking_tokens: 0 } }
  return [
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
        usage: { input_tokens: 12, output_tokens: 1 }
      }
    },
    { type: 'ping' },
    ...blocks.flatMap(([content_block, deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      ...(overloaded ? [] : [{ type: 'content_block_stop', index }])
    ]),
    ...(overloaded
      ? [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]
      : [
          {
            type: 'message_delta',
            delta: {
              stop_reason: reason ?? (call === undefined ? 'end_turn' : 'tool_use'),
              stop_sequence: null
            },
            usage: { output_tokens: 3, ...counted }
          },
          { type: 'message_stop' }
        ])
  ]
})

const toTextDelta = (text: string) => ({ type: 'text_delta', text })

/** https://ai.google.dev/api/generate-content */
export const contents = sse(({ texts = [], call, reason, usage, overloaded }) => {
  const usageMetadata =
    usage === 'none'
      ? {}
      : { usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 } }
  const chunk = (parts: object[], finishReason?: string) => ({
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason && { finishReason }) }],
    ...usageMetadata,
    modelVersion: 'gemini-2.5-flash',
    responseId: 'r1'
  })
  return [
    chunk([]),
    ...texts.map((text) => chunk([{ text }])),
    ...(call === undefined
      ? []
      : [
          chunk([{ functionCall: { name: call.name, args: asObject(call.args) }, thoughtSignature: 'c2ln' }])
        ]),
    overloaded
      ? { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
      : chunk([], reason ?? 'STOP')
  ]
})

// Gemini has arguments as JSON already.
function asObject(json: string): object {
  try {
    const args: unknown = JSON.parse(json)
    return typeof args === 'object' && args !== null ? args : {}
  } catch {
    return {}
  }
}

let items = 0

/** https://platform.openai.com/docs/api-reference/responses-streaming */
export const responses = sse(({ texts = [], call, reason, usage, overloaded }) => {
  const id = ++items
  const response = { id: `resp_${id}`, object: 'response', created_at: 1, model: 'm', output: [] }
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant' }
  const counts =
    usage === 'none'
      ? null
      : {
          input_tokens: 12,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 3,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 15
        }
  const events: object[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.in_progress', response: { ...response, status: 'in_progress' } }
  ]
  if (texts.length > 0 || overloaded) {
    events.push({
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...message, status: 'in_progress', content: [] }
    })
    for (const delta of texts)
      events.push({
        type: 'response.output_text.delta',
        item_id: message.id,
        output_index: 0,
        content_index: 0,
        delta,
        logprobs: []
      })
  }
  if (overloaded) {
    const fault = { type: 'server_error', code: 'server_error', message: 'Overloaded', param: null }
    events.push({ ...fault, type: 'error', error: fault })
    return events.map((each, sequence_number) => ({ ...each, sequence_number }))
  }
  if (texts.length > 0)
    events.push({
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        ...message,
        status: 'completed',
        content: [{ type: 'output_text', text: texts.join(''), annotations: [], logprobs: [] }]
      }
    })
  if (call !== undefined) {
    const item = { id: `fc_${id}`, type: 'function_call', call_id: call.id, name: call.name }
    const at = { item_id: item.id, output_index: 1 }
    events.push(
      {
        type: 'response.output_item.added',
        output_index: 1,
        item: { ...item, status: 'in_progress', arguments: '' }
      },
      { type: 'response.function_call_arguments.delta', ...at, delta: call.args },
      { type: 'response.function_call_arguments.done', ...at, arguments: call.args, name: call.name },
      {
        type: 'response.output_item.done',
        output_index: 1,
        item: { ...item, status: 'completed', arguments: call.args }
      }
    )
  }
  events.push(
    reason === undefined
      ? {
          type: 'response.completed',
          response: { ...response, status: 'completed', incomplete_details: null, usage: counts }
        }
      : {
          type: 'response.incomplete',
          response: { ...response, status: 'incomplete', incomplete_details: { reason }, usage: counts }
        }
  )
  return events.map((each, sequence_number) => ({ ...each, sequence_number }))
})

/** https://platform.openai.com/docs/api-reference/chat-streaming, as its many imitators stream it too */
export const completions = sse(({ texts = [], call, reason, usage, overloaded }) => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }]
  })
  const called = call && {
    index: 0,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.args }
  }
  const counts = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }
  const last = chunk({}, reason ?? (call === undefined ? 'stop' : 'tool_calls'))
  return [
    chunk({ role: 'assistant', content: '' }),
    ...texts.map((content) => chunk({ content })),
    ...(called ? [chunk({ tool_calls: [called] })] : []),
    ...(overloaded
      ? [{ error: { message: 'Overloaded', type: 'server_error', param: null, code: null } }]
      : [usage === 'none' ? last : { ...last, usage: counts, x_groq: { id: 'r1', usage: counts } }])
  ]
})

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html */
export const converse: Wire = {
  contentType: 'application/vnd.amazon.eventstream',
  write({ texts = [], call, reason, usage, overloaded }) {
    const events: [string, object][] = [['messageStart', { role: 'assistant' }]]
    for (const text of texts) events.push(['contentBlockDelta', { contentBlockIndex: 0, delta: { text } }])
    if (overloaded)
      return [
        ...events.map(([type, data]) => frame('event', type, data)),
        frame('exception', 'serviceUnavailableException', { message: 'Overloaded' })
      ]
    if (texts.length > 0) events.push(['contentBlockStop', { contentBlockIndex: 0 }])
    if (call !== undefined)
      events.push(
        [
          'contentBlockStart',
          { contentBlockIndex: 1, start: { toolUse: { toolUseId: call.id, name: call.name } } }
        ],
        ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: call.args } } }],
        ['contentBlockStop', { contentBlockIndex: 1 }]
      )
    events.push(['messageStop', { stopReason: reason ?? (call === undefined ? 'end_turn' : 'tool_use') }])
    const counts = { inputTokens: 12, outputTokens: 3, totalTokens: 15 }
    events.push(['metadata', { metrics: { latencyMs: 1 }, ...(usage !== 'none' && { usage: counts }) }])
    return events.map(([type, data]) => frame('event', type, data))
  }
}

// A message of AWS's event stream: prelude, headers, payload, checksums.
function frame(messageType: 'event' | 'exception', type: string, payload: object): Uint8Array {
  const headers = Buffer.concat(
    [
      [':message-type', messageType],
      [`:${messageType}-type`, type],
      [':content-type', 'application/json']
    ].map(([name = '', value = '']) => {
      const size = Buffer.alloc(2)
      size.writeUInt16BE(Buffer.byteLength(value))
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        size,
        Buffer.from(value)
      ])
    })
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const checked = Buffer.concat([prelude, sum(prelude), headers, body])
  return Buffer.concat([checked, sum(checked)])
}

function sum(bytes: Uint8Array): Buffer {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(bytes))
  return checksum
}
