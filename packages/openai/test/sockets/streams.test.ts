import { once } from 'node:events'
import { defineRunnable } from '@svc/registry'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t from 'tap'
import { supportAgent } from '../helpers/agents.ts'
import { gatedAgent, until } from '../helpers/gated-agent.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

interface StreamEvent {
  readonly type: string
  readonly stream_id?: string
  readonly response?: { readonly id: string; readonly output: { content: [{ text: string }] }[] }
}

/** The events of a socket by their streams, up to the end of so many responses. */
async function readStreams(socket: ResponseSocket, responses: number) {
  const streams = new Map<string | undefined, StreamEvent[]>()
  for (let left = responses; left > 0;) {
    const event = (await socket.next()) as StreamEvent | undefined
    if (event === undefined) throw new Error('closed')
    streams.set(event.stream_id, [...(streams.get(event.stream_id) ?? []), event])
    if (event.type === 'response.completed' || event.type === 'error') left--
  }
  return streams
}

const textsOf = (events: readonly StreamEvent[] | undefined) =>
  events?.flatMap(({ type, response }) =>
    type === 'response.completed' ? response!.output[0]!.content[0].text : []
  )

t.test('responses of different streams come at once, those of one stream in turn', async (t) => {
  const { agent, gates, begun } = gatedAgent(3)
  const { baseURL } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const create = { type: 'response.create', model: 'gated' }
  for (const [stream_id, input] of [
    ['a', '1'],
    ['b', '2'],
    ['a', '3'],
    [undefined, '4'],
    [undefined, '5']
  ])
    await socket.send({ ...create, stream_id, input })
  await until(() => gates.length === 3)
  t.same(begun.toSorted(), ['1', '2', '4'], 'the first one of each stream')
  for (let opened = 0; opened < 5; opened++) {
    await until(() => gates.length > opened)
    gates[opened]!()
  }
  const streams = await readStreams(socket, 5)
  t.same(textsOf(streams.get('a')), ['so: 1', 'so: 3'])
  t.same(textsOf(streams.get('b')), ['so: 2'])
  t.same(textsOf(streams.get(undefined)), ['so: 4', 'so: 5'])
  for (const events of streams.values()) {
    const starts = events.flatMap(({ type }, at) => (type === 'response.created' ? at : []))
    const numbers = events.map((event) => (event as { sequence_number?: number }).sequence_number)
    t.same(
      numbers,
      events.map((_, at) => at - starts.findLast((start) => start <= at)!),
      'numbers are whole'
    )
  }
})

t.test('large events of several streams are never mixed', async (t) => {
  const words = defineRunnable({
    kind: 'agent',
    name: 'words',
    async *stream(input) {
      for (let n = 0; n < 2; n++) yield { type: 'text', text: String(input).repeat(100_000) }
    }
  })
  const { baseURL } = await openAiApp(t, { runnables: [words] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const ids = Array.from({ length: 4 }, (_, at) => String(at))
  for (const stream_id of ids)
    await socket.send({ type: 'response.create', model: 'words', input: stream_id, stream_id })
  const streams = await readStreams(socket, ids.length)
  for (const id of ids) t.same(textsOf(streams.get(id)), [id.repeat(200_000)], id)
})

t.test('a stream forks from a response of another one, and errors name their stream', async (t) => {
  const { add, model } = supportAgent(['Hello', 'Fork', 'Other'])
  const { client } = await openAiApp(t, { add })
  const ws = new ResponsesWS(client())
  t.teardown(() => ws.close())
  const events = ws.stream()
  const next = async (isLast: (type: string) => boolean) => {
    for (;;) {
      const { value } = await events.next()
      if (value.type === 'error') return value.error
      if (value.type === 'message' && isLast(value.message.type)) return value.message
    }
  }
  const isEnd = (type: string) => type === 'response.completed'
  const ask = (body: object) => ws.send({ type: 'response.create', model: 'support', ...body })
  ask({ stream_id: 'one', store: false, input: 'Hi' })
  const first = (await next(isEnd)) as { stream_id: string; response: { id: string } }
  t.equal(first.stream_id, 'one')
  ask({ stream_id: 'two', store: false, input: 'And?', previous_response_id: first.response.id })
  t.match(await next(isEnd), { stream_id: 'two', response: { output: [{ content: [{ text: 'Fork' }] }] } })
  t.match(JSON.stringify(model.calls[1]!.prompt), /Hi.*Hello.*And/)
  ask({ stream_id: 'three', input: 'Hi', model: 'nobody' })
  t.match(((await next(isEnd)) as { error: object }).error, {
    error: { message: /nobody/ },
    stream_id: 'three'
  })
})

t.test('a connection has at most 16 streams at once', async (t) => {
  const { agent, gates } = gatedAgent(17)
  const { baseURL } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  const ask = (stream_id: string) =>
    socket.send({ type: 'response.create', model: 'gated', input: stream_id, stream_id })
  for (let n = 0; n < 16; n++) await ask(`s${n}`)
  await until(() => gates.length === 16)
  await ask('more')
  await until(() => socket.received.at(-1)?.type === 'error')
  t.match(socket.received.at(-1), {
    status: 429,
    stream_id: 'more',
    error: { code: 'OPENAI_ERR_TOO_MANY_STREAMS' }
  })
  for (const go of gates) go()
  await until(() => socket.received.filter(({ type }) => type === 'response.completed').length === 16)
  await ask('more')
  await until(() => gates.length === 17)
  gates[16]!()
  await until(() => socket.received.filter(({ type }) => type === 'response.completed').length === 17)
})

t.test('a client that leaves cancels the responses of all its streams', async (t) => {
  const { agent, gates } = gatedAgent(2)
  const { baseURL, runs } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  for (const stream_id of ['a', 'b', 'b'])
    await socket.send({ type: 'response.create', model: 'gated', input: 'x', stream_id })
  await until(() => gates.length === 2)
  const closed = once(socket.ws, 'close')
  socket.ws.terminate()
  await closed
  for (;;) {
    const page = await runs.list({ limit: 10 })
    if (page.runs.every(({ status }) => status === 'canceled')) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal((await runs.list({ limit: 10 })).runs.length, 2, 'what waited does not begin')
})
