import { createOpenAI } from '@ai-sdk/openai'
import { Agent, type Model } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { makeContext } from '../helpers/make-agent.ts'

const make = (model: unknown, provider?: string) =>
  new Agent({
    name: 'm',
    model: model as Model,
    register: false,
    ...(provider !== undefined && { provider })
  })

t.test('only models and functions are models', async (t) => {
  const bad: [unknown, RegExp][] = [
    ['openai/gpt-5', /string/],
    [{}, /no doStream; pass .*openai\("gpt-5-mini"\)/],
    [null, /none was given; pass .*openai\("gpt-5-mini"\)/],
    [undefined, /none was given; pass .*openai\("gpt-5-mini"\)/],
    [createOpenAI({ apiKey: 'x' }), /the provider itself; pass .*openai\("gpt-5-mini"\)/],
    [{ specificationVersion: 'v1', doStream() {} }, /v1/],
    [{ ...scriptedModel('x'), doStream: undefined }, /doStream/]
  ]
  for (const [model, message] of bad) t.throws(() => make(model), { code: 'RUN_ERR_BAD_MODEL', message })
})

t.test('a function makes the model of each run, with the caller’s own key', async (t) => {
  const asked: unknown[] = []
  const keys: Record<string, string> = { openai: 'sk-openai' }
  const { context } = makeContext({ apiKey: (provider) => (provider ? keys[provider] : 'sk-generic') })
  const factory = ({ apiKey, provider }: { apiKey: string | undefined; provider: string | undefined }) => {
    asked.push([apiKey, provider])
    return scriptedModel('Hello.')
  }
  t.equal((await make(factory, 'openai').run('Hi', context)).text, 'Hello.')
  t.equal((await make(async (request: never) => factory(request)).run('Hi', context)).text, 'Hello.')
  await make(factory).run('Hi')
  t.strictSame(asked, [
    ['sk-openai', 'openai'],
    ['sk-generic', undefined],
    [undefined, undefined]
  ])
})

t.test('a function that gives no model, or throws', async (t) => {
  await t.rejects(make(() => 'openai/gpt-5').run('Hi'), { code: 'RUN_ERR_BAD_MODEL' })
  await t.rejects(make(() => undefined).run('Hi'), { code: 'RUN_ERR_BAD_MODEL', message: /none was given/ })
  await t.rejects(make(() => Promise.reject(new Error('no key'))).run('Hi'), { message: 'no key' })
})
