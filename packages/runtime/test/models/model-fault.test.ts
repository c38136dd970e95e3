import { createOpenAI } from '@ai-sdk/openai'
import t from 'tap'
import { toModelFault } from '../../src/models/model-fault.ts'

const codeOf = (thrown: unknown) => {
  const { error, transient } = toModelFault(thrown)
  return [(error as Error & { code: string }).code, transient]
}

t.test('by the status, wherever it is', async (t) => {
  t.strictSame(codeOf({ statusCode: 429 }), ['RUN_ERR_MODEL_RATE_LIMITED', true])
  t.strictSame(codeOf({ status: 503 }), ['RUN_ERR_MODEL_FAILED', true])
  t.strictSame(codeOf(new Error('x', { cause: { statusCode: 500 } })), ['RUN_ERR_MODEL_FAILED', true])
  t.strictSame(codeOf({ statusCode: 401 }), ['RUN_ERR_MODEL_AUTH', false])
  t.strictSame(codeOf({ statusCode: 418, isRetryable: true }), ['RUN_ERR_MODEL_REFUSED', false])
})

t.test('by the network', async (t) => {
  const unreachable = ['RUN_ERR_MODEL_UNREACHABLE', true]
  t.strictSame(codeOf({ code: 'ECONNRESET' }), unreachable)
  t.strictSame(codeOf(new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } })), unreachable)
  t.strictSame(codeOf(new TypeError('terminated')), unreachable)
  t.strictSame(codeOf({ statusCode: 200, isRetryable: true, cause: { code: 'UND_ERR_SOCKET' } }), unreachable)
  t.strictSame(codeOf(new TypeError('x is not a function')), ['RUN_ERR_MODEL_FAILED', false])
})

t.test('by what an error part says', async (t) => {
  t.strictSame(codeOf({ type: 'overloaded_error', message: 'x' }), ['RUN_ERR_MODEL_FAILED', true])
  t.strictSame(codeOf({ error: { type: 'server_error' } }), ['RUN_ERR_MODEL_FAILED', true])
  t.strictSame(codeOf({ type: 'invalid_request_error' }), ['RUN_ERR_MODEL_FAILED', false])
  for (const odd of [undefined, null, 'overloaded', 5, [], () => {}])
    t.strictSame(codeOf(odd), ['RUN_ERR_MODEL_FAILED', false])
})

t.test('a key that is not set is told in the words of the provider, which name the variable', async (t) => {
  const model = createOpenAI()('gpt-5-mini')
  const key = process.env['OPENAI_API_KEY']
  delete process.env['OPENAI_API_KEY']
  const thrown = await Promise.resolve(model.doStream({ prompt: [] })).catch((err: unknown) => err)
  if (key !== undefined) process.env['OPENAI_API_KEY'] = key
  t.strictSame(codeOf(thrown), ['RUN_ERR_MODEL_AUTH', false])
  const { error, details } = toModelFault(thrown)
  t.match(details, { name: 'AI_LoadAPIKeyError', missing: /OPENAI_API_KEY environment variable/ })
  t.notMatch(error.message, /OPENAI/)
  t.equal(error.cause, thrown)
})

t.test('nothing that may be a key is told with it', async (t) => {
  const thrown = Object.assign(new Error('bad: sk-4711aBcdefghijkl'), { name: 'AI_LoadAPIKeyError' })
  t.notMatch(JSON.stringify(toModelFault(thrown).details), '4711')
  t.equal(toModelFault(thrown).error.cause, undefined)
  const deep = Object.assign(new Error('not set', { cause: thrown }), { name: 'AI_LoadAPIKeyError' })
  t.equal(toModelFault(deep).error.cause, undefined)
})

t.test('an error that is its own cause ends somewhere', async (t) => {
  const error = new Error('x')
  error.cause = error
  t.strictSame(codeOf(error), ['RUN_ERR_MODEL_FAILED', false])
})

t.test('the details hold words and numbers, and no texts', async (t) => {
  const key = 'sk-4711aB'
  const { details, error } = toModelFault(
    Object.assign(new Error(`bad key ${key}`), {
      name: 'AI_APICallError',
      statusCode: 401,
      url: `https://user:${key}@api.example.org/v1?key=${key}`,
      requestBodyValues: { prompt: key },
      responseHeaders: { authorization: key },
      responseBody: key,
      code: key,
      data: { error: { type: 'authentication_error', code: key, message: key } }
    })
  )
  t.strictSame(details, {
    name: 'AI_APICallError',
    statusCode: 401,
    codes: ['authentication_error'],
    host: 'api.example.org'
  })
  t.notMatch(JSON.stringify([details, error.message, error.stack, error.cause]), key)
})
