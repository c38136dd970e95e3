import { Value } from '@sinclair/typebox/value'
import { SERVER_EVENTS, type ClientEvent, type ServerEvent } from '@svc/realtime'
import type { RealtimeClientEvent, RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import t from 'tap'
import { openDesk, type TestSocket } from '../helpers/build-realtime.ts'
import { silence } from '../helpers/desk-voice.ts'

// The events are those of the protocol: unknown or missing ones do not compile.
const types = <T>(value: T): T => value
types<ServerEvent['type'] extends RealtimeServerEvent['type'] ? true : never>(true)
types<ClientEvent['type'] extends RealtimeClientEvent['type'] ? true : never>(true)
types<RealtimeClientEvent['type'] extends ClientEvent['type'] ? true : never>(true)

const write = ({ send }: TestSocket, text: string, id?: string) =>
  send({
    type: 'conversation.item.create',
    item: {
      ...(id !== undefined && { id }),
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text }]
    }
  })
const base64 = (ms: number) => Buffer.from(silence(ms)).toString('base64')

t.test('a spoken turn and its answer, event by event', async (t) => {
  const { client, runs } = await openDesk(t)
  client.send({ type: 'input_audio_buffer.append', audio: base64(100) })
  client.send({ type: 'input_audio_buffer.append', audio: base64(100) })
  client.send({ type: 'input_audio_buffer.commit' })
  const { response } = await client.next('response.done')
  t.strictSame(
    client.events.map(({ type }) => type),
    [
      'session.created',
      'conversation.created',
      'input_audio_buffer.speech_started',
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'conversation.item.input_audio_transcription.delta',
      'conversation.item.input_audio_transcription.delta',
      'conversation.item.input_audio_transcription.completed',
      'response.created',
      'response.output_item.added',
      'conversation.item.added',
      'response.content_part.added',
      'response.output_audio_transcript.delta',
      'response.output_audio_transcript.delta',
      ...Array.from({ length: 5 }, () => 'response.output_audio.delta'),
      'response.output_audio.done',
      'response.output_audio_transcript.done',
      'response.content_part.done',
      'conversation.item.done',
      'response.output_item.done',
      'response.done'
    ]
  )
  for (const event of client.events)
    t.strictSame([...Value.Errors(SERVER_EVENTS[event.type], event)], [], event.type)
  t.equal(new Set(client.events.map(({ event_id: id }) => id)).size, client.events.length)

  const [turn, , answer] = client.events.filter(({ type }) => type === 'conversation.item.added')
  const turnDone = await client.next('conversation.item.done')
  t.match(turn, {
    previous_item_id: null,
    item: { role: 'user', content: [{ type: 'input_audio', transcript: null }] }
  })
  t.match(answer ?? client.events[12], {
    previous_item_id: turnDone.item.id,
    item: { status: 'in_progress', content: [] }
  })
  t.match(await client.next('conversation.item.input_audio_transcription.completed'), {
    transcript: '200 ms',
    usage: { type: 'duration', seconds: 0.2 }
  })
  t.match(response, {
    status: 'completed',
    output: [{ status: 'completed', content: [{ type: 'output_audio', transcript: '200 ms' }] }],
    output_modalities: ['audio'],
    audio: { output: { format: { type: 'audio/pcm', rate: 24_000 } } },
    usage: { total_tokens: 0 }
  })
  const { conversation } = await client.next('conversation.created')
  t.equal(response.conversation_id, conversation.id)
  t.match(await runs.get(conversation.id), { kind: 'agent', name: 'desk', status: 'working' })
  const audio = client.events.flatMap((event) =>
    event.type === 'response.output_audio.delta' ? [event.delta] : []
  )
  t.strictSame(Buffer.concat(audio.map((each) => Buffer.from(each, 'base64'))), Buffer.from(silence(500)))
})

t.test('a written turn and a written answer', async (t) => {
  const { client } = await openDesk(t)
  client.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } })
  write(client, 'Hello there', 'mine')
  client.send({ type: 'response.create' })
  t.match(await client.next('conversation.item.added'), {
    item: { id: 'mine', content: [{ text: 'Hello there' }] }
  })
  t.match(await client.next('response.content_part.added'), { part: { type: 'text', text: '' } })
  t.match(await client.next('response.output_text.delta'), { delta: 'Hello ' })
  t.match(await client.next('response.output_text.done'), {
    text: 'Hello there',
    content_index: 0,
    output_index: 0
  })
  t.match(await client.next('response.done'), {
    response: {
      output_modalities: ['text'],
      output: [{ content: [{ type: 'output_text', text: 'Hello there' }] }]
    }
  })
  t.notOk(client.events.some(({ type }) => type.startsWith('response.output_audio')))
})

t.test('per-response options: modality and metadata; the others are refused', async (t) => {
  const { client } = await openDesk(t)
  write(client, 'Hi')
  const response = { output_modalities: ['text' as const], metadata: { topic: 'x' }, instructions: 'Brief' }
  client.send({ type: 'response.create', response })
  t.match(await client.next('response.done'), {
    response: { output_modalities: ['text'], metadata: { topic: 'x' } }
  })
  const refused: [object, string][] = [
    [{ conversation: 'none' }, 'response.conversation'],
    [{ input: [] }, 'response.input'],
    [{ tools: [] }, 'response.tools'],
    [{ tool_choice: 'required' }, 'response.tool_choice'],
    [{ max_output_tokens: 10 }, 'response.max_output_tokens'],
    [{ audio: { output: { voice: 'other' } } }, 'response.audio.output.voice'],
    [{ audio: { output: { format: { type: 'audio/pcmu' } } } }, 'response.audio.output.format']
  ]
  for (const [options, param] of refused) {
    client.send({ type: 'response.create', event_id: param, response: options })
    t.match(await client.next('error'), { error: { code: 'unsupported_value', param, event_id: param } })
  }
})

t.test('one response at a time; cancel ends it', async (t) => {
  const { client } = await openDesk(t)
  write(client, 'long')
  client.send({ type: 'response.create' })
  const { response } = await client.next('response.created')
  client.send({ type: 'response.create', event_id: 'second' })
  t.match(await client.next('error'), {
    error: { code: 'conversation_already_has_active_response', event_id: 'second' }
  })
  client.send({ type: 'response.cancel', response_id: 'other', event_id: 'third' })
  t.match(await client.next('error'), { error: { code: 'response_cancel_not_active', event_id: 'third' } })
  client.send({ type: 'response.cancel', response_id: response.id! })
  t.match(await client.next('response.done'), {
    response: {
      status: 'cancelled',
      status_details: { reason: 'client_cancelled' },
      output: [{ status: 'incomplete' }]
    }
  })
})

t.test('items are retrieved, and truncated to what was played', async (t) => {
  const { client } = await openDesk(t)
  write(client, 'Hello there', 'mine')
  client.send({ type: 'response.create' })
  const { response } = await client.next('response.done')
  const itemId = response.output[0]!.id!
  client.send({ type: 'conversation.item.retrieve', item_id: 'mine' })
  t.match(await client.next('conversation.item.retrieved'), {
    item: { id: 'mine', status: 'completed', role: 'user' }
  })
  client.send({ type: 'conversation.item.truncate', item_id: itemId, content_index: 0, audio_end_ms: 120 })
  t.match(await client.next('conversation.item.truncated'), { item_id: itemId, audio_end_ms: 120 })
  client.send({ type: 'conversation.item.retrieve', item_id: itemId })
  t.match(await client.next('conversation.item.retrieved'), {
    item: { status: 'incomplete', content: [{ transcript: 'cut' }] }
  })
  const faults: [ClientEvent, object][] = [
    [{ type: 'conversation.item.retrieve', item_id: 'x' }, { code: 'item_retrieve_invalid_item_id' }],
    [{ type: 'conversation.item.delete', item_id: 'x' }, { code: 'item_delete_invalid_item_id' }],
    [
      { type: 'conversation.item.delete', item_id: itemId },
      { code: 'unsupported_value', param: 'item_id' }
    ],
    [
      { type: 'conversation.item.truncate', item_id: 'x', content_index: 0, audio_end_ms: 1 },
      { code: 'item_truncate_invalid_item_id', param: 'item_id' }
    ],
    [
      { type: 'conversation.item.truncate', item_id: itemId, content_index: 0, audio_end_ms: 501 },
      { code: 'invalid_value', param: 'audio_end_ms', message: /only 500 ms were sent, not 501 ms/ }
    ],
    [
      { type: 'conversation.item.truncate', item_id: itemId, content_index: 1, audio_end_ms: 1 },
      { code: 'invalid_value', param: 'content_index' }
    ]
  ]
  for (const [event, error] of faults) {
    client.send({ ...event, event_id: 'e' })
    t.match(await client.next('error'), { error: { ...error, type: 'invalid_request_error', event_id: 'e' } })
  }
})

t.test('an interruption is reported when it stops the answer, not before', async (t) => {
  const { desk, client } = await openDesk(t)
  write(client, 'long')
  client.send({ type: 'response.create' })
  const { item } = await client.next('response.output_item.added')
  await client.next('response.output_audio.delta')
  await desk.noise()
  await desk.interrupt(120, 'lo')
  t.match(await client.next('response.done'), {
    response: {
      status: 'cancelled',
      status_details: { reason: 'turn_detected' },
      output: [{ content: [{ transcript: 'lo' }] }]
    }
  })
  const names = client.events.map(({ type }) => type)
  t.strictSame(names.slice(names.indexOf('input_audio_buffer.speech_started')), [
    'input_audio_buffer.speech_started',
    'output_audio_buffer.cleared',
    'response.output_audio.done',
    'response.output_audio_transcript.done',
    'response.content_part.done',
    'conversation.item.done',
    'response.output_item.done',
    'response.done'
  ])
  client.send({ type: 'conversation.item.retrieve', item_id: item.id! })
  t.match(await client.next('conversation.item.retrieved'), {
    item: { status: 'incomplete', content: [{ transcript: 'lo' }] }
  })
})

t.test('after a false alarm the answer is whole again, also after the end of its response', async (t) => {
  const { desk, client } = await openDesk(t)
  write(client, 'Hello there')
  client.send({ type: 'response.create' })
  const { response } = await client.next('response.done')
  const itemId = response.output[0]!.id!
  await desk.falseAlarm(200)
  await client.next('output_audio_buffer.cleared')
  for (let count = 0; count < 6; count++) await client.next('response.output_audio.delta')
  client.send({ type: 'conversation.item.retrieve', item_id: itemId })
  t.match(await client.next('conversation.item.retrieved'), {
    item: { status: 'completed', content: [{ transcript: 'Hello there' }] }
  })
})

t.test('a client without automatic answers: commits, responses, a cleared buffer', async (t) => {
  const { desk, client } = await openDesk(t)
  client.send({ type: 'session.update', session: { audio: { input: { turn_detection: null } } } })
  client.send({ type: 'input_audio_buffer.append', audio: base64(90) })
  client.send({ type: 'input_audio_buffer.commit', event_id: 'short' })
  t.match(await client.next('error'), {
    error: { code: 'input_audio_buffer_commit_empty', event_id: 'short', message: /has 90 ms/ }
  })
  client.send({ type: 'input_audio_buffer.append', audio: base64(90) })
  client.send({ type: 'input_audio_buffer.clear' })
  await client.next('input_audio_buffer.cleared')
  client.send({ type: 'input_audio_buffer.commit' })
  t.match(await client.next('error'), {
    error: { code: 'input_audio_buffer_commit_empty', message: /has 0 ms/ }
  })
  // More than one frame of a call.
  client.send({ type: 'input_audio_buffer.append', audio: base64(2_000) })
  client.send({ type: 'input_audio_buffer.commit' })
  await client.next('input_audio_buffer.committed')
  t.notOk(client.events.some(({ type }) => type === 'response.created'))
  client.send({ type: 'response.create' })
  t.match(await client.next('response.done'), { response: { status: 'completed' } })
  const sizes = desk.inputs.flatMap((input) => (input.type === 'audio' ? [input.audio.byteLength] : []))
  t.ok(sizes.every((size) => size <= 65_536))
})

t.test('transcripts are sent unless the session says no', async (t) => {
  const { client } = await openDesk(t)
  client.send({ type: 'session.update', session: { audio: { input: { transcription: null } } } })
  client.send({ type: 'input_audio_buffer.append', audio: base64(100) })
  client.send({ type: 'input_audio_buffer.commit' })
  const { item_id: itemId } = await client.next('input_audio_buffer.committed')
  await client.next('response.done')
  t.notOk(client.events.some(({ type }) => type.includes('transcription')))
  client.send({ type: 'conversation.item.retrieve', item_id: itemId })
  t.match(await client.next('conversation.item.retrieved'), { item: { content: [{ transcript: '100 ms' }] } })
})
