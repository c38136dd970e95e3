import { once } from 'node:events'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { generate } from 'selfsigned'
import t from 'tap'
import { buildRealtime } from '../helpers/build-realtime.ts'
import { createDesk, silence } from '../helpers/desk-voice.ts'

type Test = { teardown(fn: () => unknown): unknown }

/** A client of `openai`, which connects by TLS only. */
async function connect(t: Test) {
  const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }])
  const desk = createDesk()
  const { host } = await buildRealtime(t, { runnables: [desk.voice], fastify: { https: { key, cert } } })
  const client = new OpenAI({ apiKey: 'none', baseURL: `https://${host}/v1` })
  const call = new OpenAIRealtimeWS({ model: 'desk', options: { rejectUnauthorized: false } }, client)
  t.teardown(() => call.close())
  const errors: unknown[] = []
  call.on('error', (err) => errors.push(err))
  await once(call.socket, 'open')
  return { desk, call, errors }
}

t.test('OpenAIRealtimeWS: a session, a message, spoken turns', async (t) => {
  const { desk, call, errors } = await connect(t)
  const updated = new Promise((resolve) => call.on('session.updated', ({ session }) => resolve(session)))
  call.send({
    type: 'session.update',
    session: {
      type: 'realtime',
      output_modalities: ['audio'],
      audio: {
        input: { format: { type: 'audio/pcm', rate: 24_000 }, turn_detection: null },
        output: { format: { type: 'audio/pcmu' }, voice: 'coral' }
      }
    }
  })
  t.match(await updated, {
    audio: {
      input: { turn_detection: null },
      output: { format: { type: 'audio/pcmu' }, voice: 'coral' }
    }
  })
  t.match(desk.links[0]?.settings, {
    output: { type: 'audio/pcmu', rate: 8_000 },
    voice: 'coral',
    turns: { detect: false, respond: false, interrupt: false }
  })

  let done = new Promise<{ status?: string }>((resolve) =>
    call.once('response.done', (event) => resolve(event.response))
  )
  let text = ''
  call.on('response.output_audio_transcript.delta', ({ delta }) => (text += delta))
  call.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] }
  })
  call.send({ type: 'response.create' })
  t.match(await done, { status: 'completed' })
  t.equal(text, 'Hello there')

  const transcript = new Promise((resolve) =>
    call.on('conversation.item.input_audio_transcription.completed', (event) => resolve(event.transcript))
  )
  call.send({ type: 'input_audio_buffer.append', audio: Buffer.from(silence(200)).toString('base64') })
  call.send({ type: 'input_audio_buffer.commit' })
  t.equal(await transcript, '200 ms')
  done = new Promise((resolve) => call.once('response.done', (event) => resolve(event.response)))
  call.send({ type: 'response.create', response: { metadata: { topic: 'numbers' } } })
  t.match(await done, { status: 'completed', metadata: { topic: 'numbers' } })
  t.strictSame(errors, [])
})

t.test('OpenAIRealtimeWS: a tool of the client, an error, and the end', async (t) => {
  const { call, desk } = await connect(t)
  const fault = new Promise((resolve) => call.on('error', (err) => resolve(err.error)))
  call.send({ type: 'response.cancel', event_id: 'mine' })
  t.match(await fault, {
    code: 'response_cancel_not_active',
    event_id: 'mine',
    type: 'invalid_request_error'
  })

  call.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'use clock' }] }
  })
  call.send({ type: 'response.create' })
  const { response } = await new Promise<{ response: { output?: unknown[]; usage?: object } }>((resolve) =>
    call.once('response.done', resolve)
  )
  t.match(response.output, [
    { type: 'function_call', name: 'clock', arguments: '{"of":"clock"}', call_id: String }
  ])
  t.match(response.usage, { input_tokens: 3, output_tokens: 2, total_tokens: 5 })
  const [{ call_id: callId }] = response.output as [{ call_id: string }]
  call.send({
    type: 'conversation.item.create',
    item: { type: 'function_call_output', call_id: callId, output: 'noon' }
  })
  const done = new Promise((resolve) => call.once('response.done', (event) => resolve(event.response)))
  call.send({ type: 'response.create' })
  t.match(await done, { output: [{ content: [{ transcript: '"noon"' }] }] })

  const closed = once(call.socket, 'close')
  call.close()
  await closed
  t.equal(desk.links.length, 1)
})
