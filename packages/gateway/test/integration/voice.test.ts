import { randomBytes } from 'node:crypto'
import type { VoiceInput } from '@svc/registry'
import { scriptedRunnable, scriptedVoice } from '@svc/testing'
import t from 'tap'
import { buildGateway } from '../helpers/build-gateway.ts'
import { CallLog, sendAudio, startCall } from '../helpers/call-log.ts'
import { RawClient } from '../helpers/raw-client.ts'

const voices = { runnables: [scriptedVoice(), scriptedRunnable([], { name: 'chat' })] }

t.test('a call: audio in, events and audio out, then the hang-up', async (t) => {
  const { connect, runs } = await buildGateway(t, voices)
  for (const transport of ['websocket', 'polling']) {
    const client = await connect({ transports: [transport] })
    const log = new CallLog(client)
    const { runId } = await startCall(client, { parts: true })
    const audio = randomBytes(96_000)
    sendAudio(client, audio)
    t.same(await client.emitWithAck('voice.commit', { itemId: 'mine' }), { ok: true })
    await log.until('voice.response.end')
    t.same(log.audio, audio)
    t.match(log.of('voice.item'), [{ itemId: 'mine', runId }])
    t.match(log.of('voice.transcript'), [{ itemId: 'mine', text: '96000 bytes', final: true }])
    const { positions } = log
    t.same(
      positions,
      [...positions.keys()].map((index) => index + 1)
    )
    t.same(await client.emitWithAck('voice.stop', {}), { ok: true })
    t.match(await log.until('voice.done'), { runId, status: 'completed' })
    await log.until('agent.done')
    t.match(log.of('agent.chunk'), [{ chunk: '96000 bytes' }])
    t.match(await runs.find(runId), { kind: 'agent', name: 'voice', status: 'completed' })
    await startCall(client)
  }
})

t.test('every event of a client is an input of its call', async (t) => {
  const inputs: VoiceInput[] = []
  const voice = scriptedVoice(async function* (link) {
    const answer = { responseId: 'r', itemId: 'answer' }
    await link.send({ type: 'answer.start', ...answer, previousItemId: undefined, modality: 'audio' })
    await link.send({ type: 'audio', ...answer, audio: new Uint8Array(48_000), startMs: 0 })
    for await (const each of link.input) inputs.push(each)
    yield { type: 'text', text: 'Bye' }
  })
  const { connect } = await buildGateway(t, { runnables: [voice], options: { clientInstructions: true } })
  const client = await connect()
  const log = new CallLog(client)
  await startCall(client)
  await log.until('voice.audio')
  const settings = { turns: { detect: false }, input: { type: 'audio/pcmu', rate: 8_000 } } as const
  const events = [
    ['voice.commit', {}, { type: 'commit' }],
    ['voice.clear', {}, { type: 'clear' }],
    ['voice.text', { text: 'Hi', itemId: 'a', respond: true }, { type: 'text' }],
    ['voice.respond', { instructions: 'Be brief', modality: 'text' }, { type: 'respond' }],
    ['voice.cancel', {}, { type: 'cancel' }],
    ['voice.played', { itemId: 'answer', ms: 500 }, { type: 'played' }],
    ['voice.truncate', { itemId: 'answer', heardMs: 1_000 }, { type: 'truncate' }],
    ['voice.configure', { settings }, { type: 'configure' }],
    ['voice.audio', Buffer.from([1, 2, 3]), { type: 'audio', audio: Buffer.from([1, 2, 3]) }]
  ] as const
  for (const [event, payload] of events)
    t.same(await client.emitWithAck(event as 'voice.text', payload as never), { ok: true }, event)
  await client.emitWithAck('voice.stop', {})
  await log.until('voice.done')
  t.same(inputs, [
    ...events.map(([, payload, input]) => Object.assign({}, input.type !== 'audio' && payload, input)),
    { type: 'end', reason: 'hangup' }
  ])
})

t.test('bad starts are refused with a code, and leave the connection free for a call', async (t) => {
  const { connect } = await buildGateway(t, voices)
  const client = await connect()
  const refused = async (payload: object, code: string) =>
    t.match(await client.emitWithAck('voice.start', payload as never), { code }, code)
  await refused({ name: 'nobody' }, 'GTW_ERR_UNKNOWN_RUNNABLE')
  await refused({ name: 'chat' }, 'VOICE_ERR_NOT_A_VOICE')
  for (const input of [
    { type: 'audio/opus', rate: 48_000 },
    { type: 'audio/pcm', rate: 4_000 },
    { type: 'audio/pcmu', rate: 16_000 }
  ])
    await refused({ name: 'voice', settings: { input } }, 'VOICE_ERR_BAD_FORMAT')
  await refused({ name: 'voice', settings: { output: 'mp3' } }, 'GTW_ERR_BAD_PAYLOAD')
  await refused({ name: 'voice', settings: { instructions: 'Shout' } }, 'RUN_ERR_CLIENT_INSTRUCTIONS')
  const tools = [{ name: 'x', description: '', input: { type: 'object' } }]
  await refused({ name: 'voice', settings: { tools } }, 'RUN_ERR_CLIENT_TOOLS')
  await refused({ name: 'voice', volume: 11 }, 'GTW_ERR_BAD_PAYLOAD')
  const log = new CallLog(client)
  client.emit('voice.commit', {})
  t.match(await log.until('voice.error'), { code: 'GTW_ERR_NO_CALL' })
  await startCall(client)
  await refused({ name: 'voice' }, 'GTW_ERR_CALL_IN_PROGRESS')
})

t.test('two starts at once: the second is refused', async (t) => {
  const { connect } = await buildGateway(t, voices)
  const client = await connect()
  const answers = await Promise.all([1, 2].map(() => client.emitWithAck('voice.start', { name: 'voice' })))
  t.match(answers, [{ runId: /./ }, { code: 'GTW_ERR_CALL_IN_PROGRESS' }])
})

t.test('bad input is refused with a code, and the call continues', async (t) => {
  const { connect } = await buildGateway(t, voices)
  const client = await connect()
  const log = new CallLog(client)
  await startCall(client)
  const refused = async (event: string, payload: unknown, code: string) =>
    t.match(await client.emitWithAck(event as 'voice.text', payload as never), { code }, code)
  await refused('voice.audio', Buffer.alloc(65_538), 'VOICE_ERR_FRAME_TOO_LARGE')
  await refused('voice.audio', Buffer.alloc(961), 'VOICE_ERR_BAD_FRAME')
  await refused('voice.audio', Buffer.alloc(0), 'VOICE_ERR_BAD_FRAME')
  await refused('voice.audio', 'text where bytes are due', 'VOICE_ERR_BAD_FRAME')
  await refused('voice.audio', { audio: 'AAAA' }, 'VOICE_ERR_BAD_FRAME')
  await refused('voice.truncate', { itemId: 'nothing', heardMs: 1 }, 'VOICE_ERR_UNKNOWN_ITEM')
  for (const text of ['', ' \n']) await refused('voice.text', { text }, 'GTW_ERR_BAD_PAYLOAD')
  await refused('voice.respond', { instructions: 'Shout' }, 'RUN_ERR_CLIENT_INSTRUCTIONS')
  const input = { type: 'audio/mp3', rate: 44_100 }
  await refused('voice.configure', { settings: { input } }, 'VOICE_ERR_BAD_FORMAT')
  client.emit('voice.text', { text: 'still here', respond: true })
  const { itemId, durationMs } = await log.until('voice.answer.end')
  await refused('voice.truncate', { itemId, heardMs: Number(durationMs) + 1 }, 'VOICE_ERR_BAD_POSITION')
  await refused('voice.played', { itemId, ms: Number(durationMs) + 1 }, 'VOICE_ERR_BAD_POSITION')
  t.match(log.of('voice.text'), [{ delta: 'still here' }])
})

t.test('audio faster than twice real time is discarded, and reported once a second', async (t) => {
  const { connect } = await buildGateway(t, voices)
  const client = await connect()
  const log = new CallLog(client)
  await startCall(client)
  // 20 seconds of audio.
  sendAudio(client, Buffer.alloc(960_000), 9_600)
  await client.emitWithAck('voice.commit', {})
  await log.until('voice.response.end')
  const codes = log.of('voice.error').map(({ code }) => code)
  t.match(codes[0], 'VOICE_ERR_TOO_FAST')
  t.ok(codes.length <= 2, `${codes.length} reports`)
  t.match(log.of('voice.transcript'), [{ text: '480000 bytes' }])
})

t.test('a flood of audio ends the connection; 50 frames a second beside 50 events do not', async (t) => {
  const { connect } = await buildGateway(t, {
    ...voices,
    options: { limits: { audioBytesPerSecond: 200_000 } }
  })
  const client = await connect()
  const log = new CallLog(client)
  await startCall(client)
  for (let count = 0; count < 99; count++) client.emit('voice.audio', Buffer.alloc(960))
  for (let count = 0; count < 40; count++) client.emit('voice.clear', {})
  t.same(await client.emitWithAck('voice.commit', {}), { ok: true })
  for (let count = 0; count < 200; count++) client.emit('voice.audio', Buffer.alloc(2))
  t.match(await log.until('gateway.error'), { code: 'GTW_ERR_TOO_MANY_EVENTS' })
})

t.test('only `voice.audio` has attachments, only one, and only in the namespace', async (t) => {
  const { origin } = await buildGateway(t, voices)
  const FRAME = Buffer.alloc(960)
  const slot = '{"_placeholder":true,"num":0}'
  const client = await RawClient.connect(origin)
  client.send('421["voice.start",{"name":"voice"}]')
  await client.until((text) => text.startsWith('431['))
  for (const [index, packet] of [
    `451-2["voice.audio",${slot},{"num":1}]`,
    `451-3["voice.commit",${slot}]`,
    `451-4["voice.audio",{"frame":${slot}}]`
  ].entries()) {
    client.send(packet)
    client.send(FRAME)
    t.match(
      await client.until((text) => text.startsWith(`43${index + 2}[`)),
      /GTW_ERR_BAD_PAYLOAD|VOICE_ERR_BAD_FRAME/
    )
  }
  client.send(`451-5["voice.audio", {"num": 0, "_placeholder": true}]`)
  client.send(FRAME)
  t.equal(await client.until((text) => text.startsWith('435[')), '435[{"ok":true}]')
  client.end()

  const outside = await RawClient.open(origin)
  outside.send(`451-["voice.audio",${slot}]`)
  t.match(await outside.until((text) => text.startsWith('44')), /GTW_ERR_BAD_PAYLOAD/)
  await outside.untilClosed()
})
