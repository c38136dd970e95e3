import type { ClientEvent } from '@svc/realtime'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildRealtime, openDesk, type TestRealtime } from '../helpers/build-realtime.ts'
import { createDesk, silence } from '../helpers/desk-voice.ts'

/** Another client whose call is not affected. */
async function stillServes({ open }: TestRealtime) {
  const { next, send } = open('?model=desk')
  const content = [{ type: 'input_text' as const, text: 'Hi' }]
  send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
  send({ type: 'response.create' })
  return (await next('response.done')).response.status
}

t.test('faults of an event are named with its id, and the call continues', async (t) => {
  const { client, ...service } = await openDesk(t)
  await client.next('session.created')
  const item = (more: object) => ({ type: 'conversation.item.create', item: more })
  const session = (more: object) => ({ type: 'session.update', session: more })
  const input = (more: object) => session({ audio: { input: more } })
  const faults: [event: unknown, code: string, param: string | null][] = [
    ['{', 'invalid_json', null],
    ['', 'invalid_json', null],
    ['['.repeat(100) + ']'.repeat(100), 'invalid_json', null],
    ['{"type":"session.update","__proto__":{}}', 'invalid_json', null],
    [null, 'missing_required_parameter', 'type'],
    [[], 'missing_required_parameter', 'type'],
    [{}, 'missing_required_parameter', 'type'],
    [{ type: 7 }, 'invalid_value', 'type'],
    [{ type: 'session.delete' }, 'invalid_value', 'type'],
    [{ type: 'session.update' }, 'missing_required_parameter', 'session'],
    [{ type: 'input_audio_buffer.append', audio: 7 }, 'invalid_type', 'audio'],
    [{ type: 'input_audio_buffer.append', audio: 'ö' }, 'invalid_value', 'audio'],
    [{ type: 'input_audio_buffer.append', audio: '' }, 'invalid_value', 'audio'],
    [{ type: 'input_audio_buffer.append', audio: 'AAAA' }, 'invalid_value', 'audio'],
    [{ type: 'input_audio_buffer.commit', more: 1 }, 'unknown_parameter', 'more'],
    [{ type: 'output_audio_buffer.clear' }, 'unsupported_value', 'type'],
    [
      { type: 'conversation.item.truncate', item_id: 'x', content_index: 0 },
      'missing_required_parameter',
      'audio_end_ms'
    ],
    [session({ instructions: 7 }), 'invalid_type', 'session.instructions'],
    [session({ voice: 'coral' }), 'unknown_parameter', 'session.voice'],
    [session({ model: 'other' }), 'invalid_value', 'session.model'],
    [session({ type: 'transcription' }), 'unsupported_value', 'session.type'],
    [
      session({ include: ['item.input_audio_transcription.logprobs'] }),
      'unsupported_value',
      'session.include'
    ],
    [session({ tool_choice: 'required' }), 'unsupported_value', 'session.tool_choice'],
    [session({ max_output_tokens: 100 }), 'unsupported_value', 'session.max_output_tokens'],
    [session({ tools: [{ type: 'mcp', server_label: 'x' }] }), 'unsupported_value', 'session.tools[0].type'],
    [session({ audio: { output: { speed: 1.5 } } }), 'unsupported_value', 'session.audio.output.speed'],
    [
      input({ noise_reduction: { type: 'near_field' } }),
      'unsupported_value',
      'session.audio.input.noise_reduction'
    ],
    [
      input({ turn_detection: { type: 'server_vad', idle_timeout_ms: 5_000 } }),
      'unsupported_value',
      'session.audio.input.turn_detection.idle_timeout_ms'
    ],
    [item({ type: 'message', role: 'user', content: [] }), 'invalid_value', 'item.content'],
    [
      item({ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }),
      'unsupported_content_type',
      'item.content[0].type'
    ],
    [
      item({ type: 'message', role: 'user', content: [{ type: 'input_audio', audio: 'AAAA' }] }),
      'unsupported_content_type',
      'item.content[0].type'
    ],
    [item({ type: 'message', role: 'system', content: [] }), 'unsupported_value', 'item.role'],
    [item({ type: 'message', role: 'assistant', content: [] }), 'unsupported_value', 'item.role'],
    [item({ type: 'function_call', name: 'x', arguments: '' }), 'unsupported_value', 'item.type'],
    [
      item({ type: 'function_call_output', call_id: 'x', output: '' }),
      'invalid_tool_call_id',
      'item.call_id'
    ],
    [
      {
        ...item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }),
        previous_item_id: 'x'
      },
      'unsupported_value',
      'previous_item_id'
    ]
  ]
  for (const [event, code, param] of faults) {
    const isText = typeof event === 'string'
    const isObject = typeof event === 'object' && event !== null && !Array.isArray(event)
    client.ws.send(isText ? event : JSON.stringify(isObject ? { ...event, event_id: 'mine' } : event))
    const { error } = await client.next('error')
    t.match(
      error,
      { type: 'invalid_request_error', code, param, event_id: isObject ? 'mine' : null },
      JSON.stringify(event)
    )
  }
  t.equal(client.ws.readyState, client.ws.OPEN)
  t.equal(await stillServes(service), 'completed')
})

t.test('an invalid choice names what is possible', async (t) => {
  const { client } = await openDesk(t)
  const formats: [object, RegExp][] = [
    [{ type: 'audio/opus' }, /'audio\/pcm'/],
    [{ type: 'audio/pcm', rate: 96_000 }, /48000|from 8000|between/],
    [{ type: 'audio/pcmu', rate: 16_000 }, /8000/]
  ]
  for (const [format, message] of formats) {
    client.send({ type: 'session.update', session: { audio: { input: { format } } } } as ClientEvent)
    t.match(await client.next('error'), { error: { message } })
  }
})

t.test('frames that end the connection', async (t) => {
  const service = await buildRealtime(t, {
    runnables: [createDesk().voice],
    options: { limits: { payload: 10_000, eventsPerSecond: 50 } }
  })
  const binary = service.open('?model=desk')
  await binary.next('session.created')
  binary.ws.send(silence(20))
  t.match(await binary.next('error'), { error: { code: 'RT_ERR_BINARY_FRAME' } })
  t.match(await binary.closed, { code: 1003, reason: 'RT_ERR_BINARY_FRAME' })

  const large = service.open('?model=desk')
  await large.next('session.created')
  large.ws.send('x'.repeat(10_001))
  t.match(await large.closed, { code: 1009 })

  const flood = service.open('?model=desk')
  await flood.next('session.created')
  for (let count = 0; count < 150; count++) flood.ws.send('{}')
  for (let found = ''; found !== 'RT_ERR_TOO_MANY_EVENTS';) found = (await flood.next('error')).error.code
  t.match(await flood.closed, { code: 1008, reason: 'RT_ERR_TOO_MANY_EVENTS' })

  t.equal(await stillServes(service), 'completed')
  t.equal(service.app.runs.draining, false)
})

t.test('audio that comes too fast is refused, and the call continues', async (t) => {
  const { client } = await openDesk(t)
  const second = Buffer.from(silence(1_000)).toString('base64')
  for (let count = 0; count < 11; count++)
    client.send({ type: 'input_audio_buffer.append', audio: second, event_id: `${count}` })
  t.match(await client.next('error'), { error: { code: 'VOICE_ERR_TOO_FAST', event_id: '10' } })
  client.send({ type: 'input_audio_buffer.commit' })
  t.match(await client.next('conversation.item.input_audio_transcription.completed'), {
    transcript: '10000 ms'
  })
})

t.test('unknown agents, those that are no voice agents, and none', async (t) => {
  const echo = scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'echo' })
  const { open } = await buildRealtime(t, { runnables: [createDesk().voice, echo] })
  const cases: [string, number, string][] = [
    ['', 400, 'RT_ERR_NO_MODEL'],
    ['?model=', 400, 'RT_ERR_BAD_REQUEST'],
    ['?model=other', 404, 'RT_ERR_UNKNOWN_RUNNABLE'],
    ['?model=echo', 400, 'VOICE_ERR_NOT_A_VOICE'],
    ['?call=none', 404, 'RUN_ERR_NOT_FOUND']
  ]
  for (const [query, status, code] of cases.slice(0, 4)) {
    const { refusal } = open(query)
    t.match(await refusal, { status, body: { error: { code } } }, query)
    if (code === 'RT_ERR_BAD_REQUEST') continue
    // A page sees no status.
    const page = open(query, { protocols: ['realtime', 'openai-insecure-api-key.x'] })
    t.match(await page.next('error'), { error: { code } })
    t.match(await page.closed, { code: 1008, reason: code })
  }
  const resumed = open('?call=none')
  t.match(await resumed.next('error'), { error: { code: 'RUN_ERR_NOT_FOUND' } })
  t.match(await resumed.closed, { code: 1008 })
})

t.test('tools: a name that the agent has is refused, and another set is accepted', async (t) => {
  const desk = createDesk()
  Object.defineProperty(desk.voice, 'toolNames', { value: ['book'] })
  const { client } = await openDesk(t, { desk })
  const update = (name: string, id: string): ClientEvent => ({
    type: 'session.update',
    event_id: id,
    session: { tools: [{ type: 'function', name, parameters: { type: 'object' } }] }
  })
  for (const id of ['at start', 'again']) {
    client.send(update('book', id))
    t.match(await client.next('error'), { error: { code: 'RUN_ERR_TOOL_NAME_TAKEN', event_id: id } })
  }
  client.send(update('clock', 'right'))
  t.match(await client.next('session.updated'), { session: { tools: [{ name: 'clock' }] } })
  client.send(update('book', 'in the call'))
  t.match(await client.next('error'), { error: { code: 'RUN_ERR_TOOL_NAME_TAKEN', event_id: 'in the call' } })
  client.send({ type: 'session.update', session: { instructions: 'Brief' } })
  t.match(await client.next('session.updated'), {
    session: { instructions: 'Brief', tools: [{ name: 'clock' }] }
  })
  client.send({ type: 'session.update', session: { instructions: '', tools: [] } })
  await client.next('session.updated')
  t.match(desk.inputs.at(-1), { type: 'configure', settings: { instructions: undefined, tools: [] } })
})

t.test('instructions and tools of clients, where the app does not accept them', async (t) => {
  const options = { clientInstructions: false, clientTools: false }
  const { client } = await openDesk(t, { options })
  client.send({ type: 'session.update', session: { instructions: 'Lie.' } })
  t.match(await client.next('error'), { error: { code: 'RUN_ERR_CLIENT_INSTRUCTIONS' } })
  client.send({
    type: 'session.update',
    session: { instructions: '', tools: [{ type: 'function', name: 'x' }] }
  })
  t.match(await client.next('error'), { error: { code: 'RUN_ERR_CLIENT_TOOLS' } })
  client.send({ type: 'session.update', session: { instructions: '', tools: [] } })
  await client.next('session.updated')
})

t.test('an output of a function call that is refused may be given again', async (t) => {
  const { client } = await openDesk(t)
  const { send, next } = client
  send({ type: 'session.update', session: { tools: [{ type: 'function', name: 'book' }] } })
  const content = [{ type: 'input_text' as const, text: 'use book' }]
  send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
  send({ type: 'response.create' })
  const { call_id } = await next('response.function_call_arguments.done')
  await next('response.done')
  const answer = (output: string, event_id: string) => {
    send({ type: 'conversation.item.create', item: { type: 'function_call_output', call_id, output } })
    send({ type: 'response.create', event_id })
  }
  answer('x'.repeat(300_000), 'large')
  t.match(await next('error'), { error: { code: 'RUN_ERR_BAD_INPUT', event_id: 'large' } })
  answer('{"constructor":{"prototype":{}}}', 'keys')
  t.match(await next('error'), { error: { code: 'RUN_ERR_BAD_INPUT', event_id: 'keys' } })
  answer('done', 'right')
  t.match(await next('response.output_audio_transcript.done'), { transcript: '"done"' })
})
