import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EventMap } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { OVERFLOW_PROVIDERS, overflowError, prefixCacheModel } from '@svc/testing'
import t, { type Test } from 'tap'
import { toModelFault } from '../../src/models/model-fault.ts'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { VENDORS } from '../helpers/vendors/vendors.ts'

const faultOf = (thrown: unknown) => {
  const { error, transient, overflow } = toModelFault(thrown)
  const { code, statusCode, retryable } = error as Error & {
    code: string
    statusCode: number
    retryable: boolean
  }
  return { code, statusCode, retryable, transient, overflow }
}
const OVERFLOW = { code: 'RUN_ERR_CONTEXT_OVERFLOW', statusCode: 413, retryable: false, transient: false }

const TEXTS: readonly (readonly [text: string, limit: number | undefined])[] = [
  [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    8_192
  ],
  ['Your input exceeds the context window of this model. Please adjust your input and try again.', undefined],
  ['prompt is too long: 209000 tokens > 200000 maximum', 200_000],
  ['Prompt is too long', undefined],
  [
    'input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000, decrease input length',
    200_000
  ],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
  ['The input token count exceeds the maximum number of tokens allowed 1048576.', undefined],
  ['Input is too long for requested model.', undefined],
  ['Too many input tokens. Max input tokens: 8192, request input token count: 9000', 8_192],
  [
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    32_768
  ],
  ['The decoder prompt (length 5000) is longer than the maximum model length of 4096.', 4_096],
  ['the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
  ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072]
]

for (const [text, limit] of TEXTS)
  t.test(text, async (t) => {
    const overflow = limit === undefined ? {} : { limit }
    for (const thrown of [
      { statusCode: 400, message: text },
      { statusCode: 413, message: 'x', data: { error: { message: text } } },
      { statusCode: 400, message: 'x', responseBody: JSON.stringify({ message: text }) },
      { statusCode: 400, message: 'x', cause: new Error(text) }
    ])
      t.match(faultOf(thrown), { ...OVERFLOW, overflow })
    t.match(faultOf({ statusCode: 500, message: text }), {
      code: 'RUN_ERR_MODEL_FAILED',
      overflow: undefined
    })
    t.match(faultOf({ statusCode: 429, message: text }), { code: 'RUN_ERR_MODEL_RATE_LIMITED' })
    t.match(faultOf(new Error(text)), { code: 'RUN_ERR_MODEL_FAILED' }, 'no answer of a provider')
  })

t.test('by its code, in an answer or in a stream', async (t) => {
  t.match(faultOf({ statusCode: 400, data: { error: { code: 'context_length_exceeded' } } }), OVERFLOW)
  t.match(faultOf({ statusCode: 413, data: { error: { type: 'request_too_large' } } }), OVERFLOW)
  t.match(faultOf({ type: 'error', error: { code: 'context_length_exceeded', message: 'x' } }), OVERFLOW)
  t.match(faultOf({ statusCode: 429, code: 'request_too_large' }), { code: 'RUN_ERR_MODEL_RATE_LIMITED' })
})

t.test('what is none stays what it is', async (t) => {
  for (const message of ['max_tokens is too large: 9000', 'image is too long', '', undefined, 7])
    t.match(faultOf({ statusCode: 400, message }), { code: 'RUN_ERR_MODEL_REFUSED', overflow: undefined })
  t.match(faultOf({ statusCode: 413, message: 'Request Entity Too Large' }), {
    code: 'RUN_ERR_MODEL_REFUSED'
  })
  t.match(faultOf({ statusCode: 401, message: TEXTS[0]![0] }), { code: 'RUN_ERR_MODEL_AUTH' })
  const endless = 'prompt is too long'.repeat(100_000)
  t.match(faultOf({ statusCode: 400, message: endless.slice(1) }), OVERFLOW)
  const huge = { statusCode: 400, message: `maximum context length is ${'9'.repeat(400)} tokens` }
  t.strictSame(faultOf(huge).overflow, {}, 'a limit that is no number of tokens')
})

t.test('the errors that the model of the tests plays are overflows', async (t) => {
  for (const provider of OVERFLOW_PROVIDERS) {
    t.match(faultOf(overflowError(provider, 9_001, 8_192)), OVERFLOW, provider)
    const model = prefixCacheModel({ provider, window: 100 })
    const agent = new Agent({ name: 'a', register: false, model, retry: { attempts: 3, baseDelay: 1 } })
    const { error } = await collect(agent.stream('word '.repeat(1_000), makeContext().context))
    t.match(error, { code: 'RUN_ERR_CONTEXT_OVERFLOW' })
    t.equal(model.overflows, 1, 'it is not tried again')
  }
})

/** What providers answer, word for word; each text has a marker that must be told nowhere. */
const MARKER = 'sk-marker-4711'
const BODIES: Readonly<Record<string, readonly [status: number, body: object, limit?: number]>> = {
  anthropic: [
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: `prompt is too long: 209000 tokens > 200000 maximum ${MARKER}`
      }
    },
    200_000
  ],
  google: [
    400,
    {
      error: {
        code: 400,
        message: `The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). ${MARKER}`,
        status: 'INVALID_ARGUMENT'
      }
    },
    1_048_576
  ],
  'openai responses': [
    400,
    {
      error: {
        message: `Your input exceeds the context window of this model. ${MARKER}`,
        type: 'invalid_request_error',
        param: 'input',
        code: 'context_length_exceeded'
      }
    }
  ],
  'openai chat': [
    400,
    {
      error: {
        message: `This model's maximum context length is 8192 tokens. ${MARKER}`,
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded'
      }
    },
    8_192
  ],
  'openai-compatible': [
    400,
    {
      object: 'error',
      message: `This model's maximum context length is 4096 tokens. ${MARKER}`,
      type: 'BadRequestError',
      param: null,
      code: 400
    },
    4_096
  ],
  groq: [
    400,
    {
      error: {
        message: `Please reduce the length of the messages or completion. ${MARKER}`,
        type: 'invalid_request_error',
        code: 'context_length_exceeded'
      }
    }
  ],
  mistral: [
    400,
    {
      object: 'error',
      message: `Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length ${MARKER}`,
      type: 'invalid_request_error',
      param: null,
      code: '3051'
    },
    32_768
  ],
  xai: [
    400,
    {
      code: 'Client specified an invalid argument',
      error: `This model's maximum prompt length is 131072 but the request contains 140000 tokens. ${MARKER}`
    },
    131_072
  ],
  'amazon-bedrock': [400, { message: `Input is too long for requested model. ${MARKER}` }]
}

async function serve(t: Test, status: number, body: object) {
  let asked = 0
  const server = createServer((request, reply) => {
    asked++
    request.resume().on('end', () => {
      reply.writeHead(status, { 'content-type': 'application/json' })
      reply.end(JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

for (const [vendor, [status, body, limit]] of Object.entries(BODIES))
  t.test(`${vendor}: as its package reports it`, async (t) => {
    const { origin, asked } = await serve(t, status, body)
    const model = VENDORS[vendor]!.model(origin)
    const agent = new Agent({ name: 'tester', register: false, model, retry: { attempts: 3, baseDelay: 1 } })
    const { context, logged } = makeContext()
    const told: EventMap['context.overflow'][] = []
    context.events.on('context.overflow', (event) => void told.push(event))
    const { error, parts } = await collect(agent.stream('Hi', context))
    t.match(error, { code: 'RUN_ERR_CONTEXT_OVERFLOW', statusCode: 413, retryable: false })
    t.equal(asked(), 1, 'it is not tried again')
    t.match(told, [{ provider: model.provider, model: model.modelId, name: 'tester' }])
    t.equal(told[0]?.limit, limit)
    t.match(logged, [{ details: { code: 'RUN_ERR_CONTEXT_OVERFLOW', statusCode: status } }])
    t.notMatch(JSON.stringify([error, error?.message, parts, told, logged]), MARKER)
  })
