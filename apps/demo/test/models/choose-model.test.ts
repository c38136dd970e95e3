import { createContext } from '@svc/registry'
import { Agent, type Model } from '@svc/runtime'
import t from 'tap'
import { readEnv } from '../../src/env.ts'
import { chooseModel } from '../../src/models/choose-model.ts'
import { spawnDemo } from '../helpers/demo-process.ts'
import { startOpenAiServer } from '../helpers/openai-server.ts'

const KEY = 'sk-this-is-a-secret-4711'
const OPENAI = { OPENAI_API_KEY: KEY }
const ANTHROPIC = { ANTHROPIC_API_KEY: KEY }
const GOOGLE = { GOOGLE_GENERATIVE_AI_API_KEY: KEY }
const LOCAL = { OPENAI_BASE_URL: 'http://localhost:11434/v1' }

// Programs are started, on a machine that may be busy.
t.setTimeout(120_000)

const choose = (variables: NodeJS.ProcessEnv) => chooseModel(readEnv(variables))

t.test('the environment chooses provider and model', async (t) => {
  for (const [env, provider, modelId, label] of [
    [{}, 'offline', 'offline', /^offline/],
    [{ OPENAI_API_KEY: '  ' }, 'offline', 'offline', /^offline/],
    [OPENAI, 'openai.responses', 'gpt-5-mini', 'gpt-5-mini of OpenAI'],
    [ANTHROPIC, 'anthropic.messages', 'claude-haiku-4-5', 'claude-haiku-4-5 of Anthropic'],
    [GOOGLE, 'google.generative-ai', 'gemini-flash-latest', 'gemini-flash-latest of Google'],
    [LOCAL, 'openai.chat', 'gpt-5-mini', 'gpt-5-mini at localhost:11434'],
    [{ ...OPENAI, MODEL: 'gpt-9' }, 'openai.responses', 'gpt-9', 'gpt-9 of OpenAI'],
    [{ ...ANTHROPIC, MODEL: 'claude-9' }, 'anthropic.messages', 'claude-9', 'claude-9 of Anthropic'],
    [{ ...GOOGLE, MODEL: 'gemini-9' }, 'google.generative-ai', 'gemini-9', 'gemini-9 of Google'],
    [{ ...LOCAL, MODEL: 'llama3.2' }, 'openai.chat', 'llama3.2', 'llama3.2 at localhost:11434'],
    [{ ...GOOGLE, ...ANTHROPIC }, 'anthropic.messages', 'claude-haiku-4-5', /Anthropic/],
    [{ ...GOOGLE, ...ANTHROPIC, ...OPENAI }, 'openai.responses', 'gpt-5-mini', /OpenAI/],
    [{ ...GOOGLE, ...ANTHROPIC, ...OPENAI, ...LOCAL }, 'openai.chat', 'gpt-5-mini', /localhost/]
  ] as const) {
    const chosen = await choose(env)
    t.match(chosen.model, { provider, modelId }, JSON.stringify(env))
    t.match(chosen.label, label)
    t.notMatch(chosen.label, KEY)
  }
})

t.test('each provider is called with its key', async (t) => {
  const seen: { host: string; headers: Headers }[] = []
  const { fetch } = globalThis
  t.teardown(() => (globalThis.fetch = fetch))
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    seen.push({ host: new URL(request.url).host, headers: request.headers })
    return Response.json({ error: { message: 'no', type: 'no', status: 'no', code: 400 } }, { status: 400 })
  }
  for (const [env, host, header, value] of [
    [OPENAI, 'api.openai.com', 'authorization', `Bearer ${KEY}`],
    [ANTHROPIC, 'api.anthropic.com', 'x-api-key', KEY],
    [GOOGLE, 'generativelanguage.googleapis.com', 'x-goog-api-key', KEY],
    [LOCAL, 'localhost:11434', 'authorization', 'Bearer none']
  ] as const) {
    await t.rejects(ask((await choose(env)).model), { code: 'RUN_ERR_MODEL_REFUSED' })
    const request = seen.pop()
    t.equal(request?.host, host)
    t.equal(request?.headers.get(header), value)
  }
})

t.test('the demo answers on a server with the protocol of OpenAI', async (t) => {
  const server = await startOpenAiServer(t)
  const demo = spawnDemo(t, {
    ...OPENAI,
    OPENAI_BASE_URL: server.baseUrl,
    MODEL: 'llama3.2',
    DATA_DIR: t.testdir(),
    LOG_LEVEL: 'trace'
  })
  const agent = `${await demo.base()}/agents/assistant`
  const post = (path: string) =>
    fetch(`${agent}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'What is 6 * 7?', sessionId: path })
    })

  const run = await (await post('run')).text()
  t.match(JSON.parse(run), {
    text: 'The answer is 42.',
    finishReason: 'stop',
    toolCalls: [{ toolName: 'calculate', args: { expression: '6 * 7' } }],
    usage: { promptTokens: 20, completionTokens: 10, totalTokens: 30 }
  })
  t.equal(server.requests.length, 2)
  for (const { url, authorization, body } of server.requests) {
    t.equal(url, '/v1/chat/completions')
    t.equal(authorization, `Bearer ${KEY}`)
    t.match(body, { model: 'llama3.2', stream: true })
    t.equal(body.tools?.length, 4)
  }
  t.match(server.requests[0]?.body.messages[0]?.content, /^You are the assistant/)

  const stream = await (await post('stream')).text()
  const parts = stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as { type: string; text?: string })
  t.strictSame(
    parts.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]),
    ['start', 'step.start', 'tool.call', 'step', 'tool.result', 'step.start', 'text', 'step', 'finish']
  )
  t.equal(parts.map(({ text = '' }) => text).join(''), 'The answer is 42.')

  server.status = 401
  const refused = await post('run')
  const error = await refused.text()
  t.match([refused.status, JSON.parse(error)], [502, { code: 'RUN_ERR_MODEL_AUTH' }])

  t.equal(await demo.stop(), 0)
  for (const [name, said] of Object.entries({ run, stream, error, output: demo.said() }))
    t.notOk(said.includes(KEY), `${name} does not have the key`)
  t.match(demo.said(), /llama3\.2 at 127\.0\.0\.1/)
})

t.test('a server that needs no key and is away is an error of the run', async (t) => {
  const demo = spawnDemo(t, { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', DATA_DIR: t.testdir() })
  const response = await fetch(`${await demo.base()}/agents/assistant/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":"Hello"}'
  })
  t.equal(response.status, 502)
  t.match(await response.json(), { code: 'RUN_ERR_MODEL_UNREACHABLE' })
})

t.test('a bad value stops the demo with one clear line', async (t) => {
  const bad = [
    [{ OPENAI_BASE_URL: 'localhost:11434' }, /OPENAI_BASE_URL must be a URL/],
    [{ OPENAI_BASE_URL: `ftp://localhost/${KEY}`, ...OPENAI }, /OPENAI_BASE_URL must be a URL/],
    [{ PORT: '-1', ...ANTHROPIC }, /PORT must be a whole number from 0 to 65535, not "-1"/],
    [{ OFFLINE_DELAY: 'slow', ...GOOGLE }, /OFFLINE_DELAY must be a whole number/],
    [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of fatal, error/]
  ] as const
  await Promise.all(
    bad.map(async ([env, said]) => {
      const demo = spawnDemo(t, { DATA_DIR: t.testdirName, ...env })
      t.equal(await demo.exited, 1, JSON.stringify(env))
      t.match(demo.said(), said)
      t.equal(demo.said().trim().split('\n').length, 1, demo.said())
      t.notOk(demo.said().includes(KEY))
    })
  )
})

function ask(model: Model): Promise<unknown> {
  const agent = new Agent({ name: 'asked', model, register: false, retry: { attempts: 1 } })
  return agent.run('Hello', createContext())
}
