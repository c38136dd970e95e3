import { once } from 'node:events'
import { createOpenAI } from '@ai-sdk/openai'
import t from 'tap'
import { WebSocket } from 'ws'
import { buildRealtime } from '../helpers/build-realtime.ts'
import { createDesk, silence } from '../helpers/desk-voice.ts'

const SECRET = 'a secret that is long enough to be one'
const authenticate = ({ token }: { token?: string }) =>
  token === undefined ? null : { sub: token, scopes: ['agents:run'] }

type Model = ReturnType<ReturnType<typeof createOpenAI>['experimental_realtime']>
type ClientEvent = Parameters<Model['serializeClientEvent']>[0]
type ServerEvent = { type: string } & Record<string, unknown>

t.test('the AI SDK: a session with a tool, spoken turns, as the server of a call', async (t) => {
  const desk = createDesk()
  const { host } = await buildRealtime(t, {
    runnables: [desk.voice],
    options: { authenticate, authorize: false, secret: SECRET }
  })
  const model = createOpenAI({ baseURL: `http://${host}/v1`, apiKey: 'ann' }).experimental_realtime('desk')
  const { url, headers, protocols } = (await model.getServerWebSocketConfig!({})) as {
    url: string
    headers?: Record<string, string>
    protocols?: string[]
  }
  const ws = new WebSocket(url, protocols ?? [], { headers: headers ?? {} })
  t.teardown(() => ws.terminate())
  const events: ServerEvent[] = []
  let wake = Promise.withResolvers<void>()
  ws.on('message', (data) => {
    const parsed = model.parseServerEvent(JSON.parse((data as Buffer).toString()))
    events.push(...([parsed].flat() as unknown as ServerEvent[]))
    wake.resolve()
    wake = Promise.withResolvers()
  })
  const next = async (type: string) => {
    for (;;) {
      const index = events.findIndex((each) => each.type === type)
      if (index >= 0) return events.splice(0, index + 1).at(-1)!
      await wake.promise
    }
  }
  const send = async (event: ClientEvent) => ws.send(JSON.stringify(await model.serializeClientEvent(event)))
  await once(ws, 'open')
  await next('session-created')
  await send({
    type: 'session-update',
    config: {
      instructions: 'Be brief.',
      turnDetection: { type: 'disabled' },
      inputAudioTranscription: {},
      tools: [{ type: 'function', name: 'clock', description: 'The time', parameters: { type: 'object' } }]
    }
  } as ClientEvent)
  await next('session-updated')
  t.match(desk.links[0]?.settings, {
    instructions: 'Be brief.',
    tools: [{ name: 'clock' }],
    turns: { detect: false }
  })

  await send({ type: 'input-audio-append', audio: Buffer.from(silence(150)).toString('base64') })
  await send({ type: 'input-audio-commit' })
  t.match(await next('input-transcription-completed'), { transcript: '150 ms' })
  await send({ type: 'response-create' })
  t.match(await next('audio-transcript-done'), { transcript: '150 ms' })
  await next('response-done')

  await send({
    type: 'conversation-item-create',
    item: { type: 'text-message', role: 'user', text: 'use clock' }
  } as ClientEvent)
  await send({ type: 'response-create' })
  const asked = await next('function-call-arguments-done')
  t.match(asked, { name: 'clock', arguments: '{"of":"clock"}' })
  await next('response-done')
  await send({
    type: 'conversation-item-create',
    item: { type: 'function-call-output', callId: asked['callId'], output: '{"time":"noon"}' }
  } as ClientEvent)
  await send({ type: 'response-create' })
  t.match(await next('audio-transcript-done'), { transcript: '{"time":"noon"}' })
})

t.test('the AI SDK makes a client secret, and a page calls with it', async (t) => {
  const desk = createDesk()
  const { host, open } = await buildRealtime(t, {
    runnables: [desk.voice],
    options: { authenticate, authorize: false }
  })
  const model = createOpenAI({ baseURL: `http://${host}/v1`, apiKey: 'ann' }).experimental_realtime('desk')
  const { token } = await model.doCreateClientSecret!({
    sessionConfig: { instructions: 'The caller is Ann.' }
  })
  const { next, ws } = open('', { protocols: ['realtime', `openai-insecure-api-key.${token}`] })
  const { session } = await next('session.created')
  t.match(session, { model: 'desk', instructions: 'The caller is Ann.' })
  t.equal(ws.protocol, 'realtime')
})
