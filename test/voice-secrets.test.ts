import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent, EVENT_SCHEMAS, traceEvents, type TelemetryOptions } from '@svc/runtime'
import { encodeTones, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import Fastify from 'fastify'
import t from 'tap'
import { makePhone, SocketCall } from './helpers/serve-voice.ts'
import { connectTo } from './helpers/serve.ts'

const KEY = 'sk-canary-0123456789abcdef'

/** Pieces of audio as it could stand in a log: as bytes, base64 and hexadecimal digits. */
function piecesOf(audio: Buffer): Buffer[] {
  // Base64 has three beginnings.
  const encoded = [0, 1, 2].map((shift) =>
    Buffer.from(audio.subarray(3_000 + shift, 3_060 + shift).toString('base64'))
  )
  const piece = audio.subarray(3_000, 3_060)
  return [piece, Buffer.from(piece.toString('hex')), ...encoded]
}

/** All bytes in a folder. */
function contentOf(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
}

/** A tracer that keeps all that it is given. */
function recordSpans() {
  const spans: { name: string; given: unknown[] }[] = []
  const startSpan = (name: string, ...options: unknown[]) => {
    const given: unknown[] = [options[0]]
    spans.push({ name, given })
    const take = (...values: unknown[]) => given.push(values)
    const context = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }
    return { setAttribute: take, setAttributes: take, setStatus: take, end: take, spanContext: () => context }
  }
  return { spans, tracerProvider: { getTracer: () => ({ startSpan }) } as unknown as TracerProvider }
}
type TracerProvider = NonNullable<TelemetryOptions['tracerProvider']>

t.test('keys and audio of a call are in no log line, trace, event or table', async (t) => {
  const folder = t.testdir()
  const lines: string[] = []
  const keys: unknown[] = []
  const registry = createRegistry()
  const model = scriptedModel(['It is noon.', `Your key is ${KEY}.`])
  const desk = new Agent({ name: 'desk', registry, model })
  makePhone(registry, {
    answer: desk,
    listen: ({ apiKey }) => (keys.push(apiKey), toneTranscription()),
    speak: ({ apiKey }) => (keys.push(apiKey), toneSpeech())
  })
  const logger = { level: 'trace', stream: { write: (line: string) => void lines.push(line) } }
  const app = Fastify({ logger, forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  await app.register(registryPlugin, { registry })
  await app.register(http)
  await app.register(gateway)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const { spans, tracerProvider } = recordSpans()
  t.teardown(await traceEvents(app.events, { tracerProvider }))
  const events: string[] = []
  for (const name of Object.keys(EVENT_SCHEMAS) as (keyof typeof EVENT_SCHEMAS)[])
    app.events.on(name, (event) => void events.push(`${name} ${JSON.stringify(event)}`))

  const client = await connectTo(t, origin)
  const call = await SocketCall.start(client, { apiKey: KEY, sessionId: 's', parts: true })
  const spoken = encodeTones(`What time is it? My key is ${KEY}.`, 24_000)
  const audio = Buffer.concat([
    Buffer.from(spoken.buffer, spoken.byteOffset, spoken.byteLength),
    Buffer.alloc(48_000)
  ])
  for (let at = 0; at < audio.length; at += 960)
    client.socket.emit('voice.audio', audio.subarray(at, at + 960))
  await call.next('voice.response.end')
  await call.say('And what is my key?')
  await call.hangUp()
  await app.close()

  t.ok(keys.length > 0 && keys.every((key) => key === KEY), 'the models got the key')
  for (const name of ['voice_call phone', 'invoke_agent phone', 'invoke_agent desk', 'chat scripted'])
    t.ok(
      spans.some((span) => span.name === name),
      name
    )
  const answered = Buffer.concat(
    call.events.filter(({ event }) => event === 'voice.audio').map(({ audio: piece }) => piece as Buffer)
  )
  const secrets = [Buffer.from(KEY), ...piecesOf(audio), ...piecesOf(answered)]
  const places = {
    tables: contentOf(folder),
    lines: Buffer.from(lines.join('')),
    events: Buffer.from(events.join('\n')),
    spans: Buffer.from(JSON.stringify(spans))
  }
  for (const [place, content] of Object.entries(places)) {
    t.ok(content.length > 100, place)
    t.notOk(
      secrets.some((secret) => content.includes(secret)),
      place
    )
  }
  for (const text of ['It is noon.', 'My key is [redacted].', 'Your key is [redacted].'])
    t.ok(places.tables.includes(text), text)
  for (const text of ['noon', 'What time']) t.notOk(places.spans.includes(text), text)
})
