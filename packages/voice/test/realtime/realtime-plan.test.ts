import { createOpenAI } from '@ai-sdk/openai'
import { createContext, type RunLog } from '@svc/registry'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { planRealtime, type RealtimeEngineOptions } from '../../src/engines/realtime/realtime-plan.ts'
import type { RealtimeModel } from '../../src/engines/realtime/realtime-codec.ts'
import { echo } from '../helpers/realtime/echo.ts'
import { RealtimeCall } from '../helpers/realtime/realtime-call.ts'
import { startRealtimeServer } from '../helpers/realtime/realtime-server.ts'

const openai = createOpenAI({ apiKey: 'k' })
const model = openai.experimental_realtime('gpt-realtime', { api: 'realtime' })

const plan = (options: Partial<Record<keyof RealtimeEngineOptions, unknown>>) =>
  planRealtime({
    name: 'live',
    turns: { threshold: 0.5, silence: 500, prefix: 300, interruptAfter: 200 },
    times: { connect: 1, session: 1, transcription: 1, response: 1 },
    ...options
  } as RealtimeEngineOptions)

t.test('what is no realtime model is refused', async (t) => {
  for (const [given, fault] of [
    [undefined, /pass a realtime model/],
    ['gpt-realtime', /pass a realtime model/],
    [openai.experimental_realtime, /the factory itself/],
    [scriptedModel(['x']), /pass a realtime model/],
    [openai.experimental_realtime('gpt-live-1', { api: 'live' }), /without turns/],
    [
      Object.assign(Object.create(model), { getServerWebSocketConfig: undefined }),
      /getServerWebSocketConfig/
    ],
    [Object.assign(Object.create(model), { specificationVersion: 'v5' }), /version v5/]
  ] as const)
    t.throws(() => plan({ model: given }), { code: 'RUN_ERR_BAD_MODEL', message: fault })
  t.throws(() => plan({ model, provider: 'openai' }), { code: 'RUN_ERR_BAD_AGENT', message: /provider/ })
  const tools = [openai.tools.webSearch({})]
  t.throws(() => plan({ model, tools }), {
    code: 'RUN_ERR_BAD_AGENT',
    message: /web_search.*providerOptions/
  })
  const given = plan({ model: () => 7 as unknown as RealtimeModel })
  await t.rejects(async () => given.resolveModel(createContext()), { code: 'RUN_ERR_BAD_MODEL' })
})

t.test('a provider that cannot truncate is asked nothing of the kind', async (t) => {
  const server = await startRealtimeServer(t, { reply: echo })
  const given = server.model as RealtimeModel
  const simple: RealtimeModel = Object.assign(Object.create(given), {
    serializeClientEvent: (event: Parameters<RealtimeModel['serializeClientEvent']>[0]) =>
      event.type === 'conversation-item-truncate' ? undefined : given.serializeClientEvent(event)
  })
  const call = await RealtimeCall.open(t, simple, {
    play: (call) => call.interrupt({ ms: 90, text: call.engine.textAt(90) })
  })
  await call.ask('one')
  await call.ask('two')
  t.equal(server.received('conversation.item.truncate').length, 0)
  t.same(server.connections[0]?.errors, [])
})

t.test('neither keys nor texts of the provider, nor audio, are in logs and errors', async (t) => {
  const lines: string[] = []
  const write = (...args: unknown[]) => void lines.push(JSON.stringify(args))
  const log = { trace: write, debug: write, info: write, warn: write, error: write } as unknown as RunLog
  const secret = 'sk-secret-4711'
  let count = 0
  const server = await startRealtimeServer(t, {
    reply: () => (++count > 1 ? { fails: { type: secret, code: secret } } : { text: 'Fine.' }),
    handshake: (index) => (index === 1 ? 503 : 101),
    tamper: (event) => [
      { type: 'error', error: { type: secret, code: secret, message: secret, event_id: secret } },
      {
        type: 'conversation.item.input_audio_transcription.failed',
        item_id: secret,
        error: { message: secret }
      },
      event
    ]
  })
  const call = await RealtimeCall.open(t, server.model, { context: { log } })
  await call.ask('one')
  server.connections[0]?.cut()
  await call.ask('two')
  t.match(call.all('response.end')[1], { error: { code: 'RUN_ERR_MODEL_FAILED' } })
  t.ok(lines.length > 0)
  const reported = JSON.stringify([
    call.events.map((event) => ('error' in event ? String(event.error) : '')),
    lines
  ])
  for (const text of [secret, 'sk-test', 'bad:']) t.notOk(reported.includes(text), text)
})
