import agUi from '@svc/ag-ui'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, defineRunnable } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import Fastify, { type FastifyInstance } from 'fastify'
import { io, type Socket } from 'socket.io-client'
import t, { type Test } from 'tap'

type Data = Record<string, unknown>
/** A message of an event stream. */
interface Message {
  readonly id: string | undefined
  readonly data: Data
}

const WHOLE = { name: 'Ann', age: 36 }

/** An agent that writes the beginning of an object, waits, writes more, waits, and ends. */
function writer(readers: number) {
  const gates = Array.from({ length: 2 }, () => Promise.withResolvers<void>())
  const seen: string[] = []
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'writer',
    async *stream() {
      yield { type: 'step.start', index: 0, attempt: 1 }
      yield { type: 'text', text: '{"name": "A' }
      yield { type: 'text', text: 'n' }
      await gates[0]!.promise
      yield { type: 'text', text: 'n", "age": 3' }
      await gates[1]!.promise
      yield { type: 'text', text: '6}' }
      yield { type: 'structured', value: WHOLE }
    }
  })
  return {
    runnable,
    /** Goes on once all readers have been sent what can be known so far. */
    goOn(value: unknown): void {
      const { name } = value as { name: string }
      seen.push(name)
      if (seen.filter((each) => each === name).length < readers) return
      if (name === 'An') gates[0]!.resolve()
      if (name === 'Ann') gates[1]!.resolve()
    }
  }
}

async function serve(t: Pick<Test, 'teardown'>, readers = 1) {
  const { runnable, goOn } = writer(readers)
  const registry = createRegistry()
  registry.add(runnable)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry, drainTimeout: 0 })
  await app.register(http, { prefix: '/api' })
  await app.register(uiStream, { prefix: '/ui' })
  await app.register(agUi, { prefix: '/agui' })
  await app.register(gateway)
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = (path: string, body: object) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  return { origin, post, goOn, runs: app.runs }
}

/** Reads a stream to the end of its run; `onValue` gets each partial object as it comes. */
async function read(
  response: Response,
  valueOf: (message: Message) => unknown,
  onValue: (value: unknown) => void
): Promise<{ messages: Message[]; values: unknown[] }> {
  const messages: Message[] = []
  const values: unknown[] = []
  const events = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  for await (const { id, data } of events) {
    if (data === '[DONE]') break
    const message = { id, data: JSON.parse(data) as Data }
    messages.push(message)
    if (message.data['type'] === 'finish') break
    const value = valueOf(message)
    if (value === undefined) continue
    values.push(value)
    onValue(value)
  }
  return { messages, values }
}

const transientOf = ({ data: { type, name, transient, value } }: Message) =>
  type === 'data' && name === 'structured' && transient === true ? value : undefined

const idsOf = (messages: readonly Message[]) => messages.flatMap(({ id }) => id ?? [])

/** The numbers of the parts in the log of a run that has ended. */
async function readLog(runs: FastifyInstance['runs'], started: Response): Promise<string[]> {
  const ids: string[] = []
  for await (const { seq } of runs.parts(started.headers.get('x-run-id')!)) ids.push(String(seq))
  return ids
}

/** Values grow, and none comes twice. */
function requireGrowth(t: Test, values: readonly unknown[]): void {
  const seen = values.map((value) => JSON.stringify(value)).filter((json) => json !== JSON.stringify(WHOLE))
  t.same(seen.slice(-2), ['{"name":"An"}', '{"name":"Ann"}'])
  t.equal(new Set(seen).size, seen.length, seen.join(' '))
}

t.test('over HTTP: in the stream of a start, transient and without an id', async (t) => {
  const { post, goOn, runs } = await serve(t)
  const response = await post('/api/agents/writer/stream?partial=true', { input: 'x' })
  const { messages, values } = await read(response, transientOf, goOn)
  requireGrowth(t, values)
  const logged = await readLog(runs, response)
  t.same(idsOf(messages), logged, 'the parts of the log have their ids')
  for (const message of messages) if (transientOf(message) !== undefined) t.equal(message.id, undefined)
  t.match(messages.findLast(({ data }) => data['type'] === 'structured')?.data, { value: WHOLE })
})

t.test('over HTTP: none unless asked for, and a bad choice is refused', async (t) => {
  const { post, goOn, runs } = await serve(t)
  for (const name of ['An', 'Ann']) goOn({ name })
  for (const query of ['', '?partial=false']) {
    const response = await post(`/api/agents/writer/stream${query}`, { input: 'x' })
    const { messages } = await read(response, transientOf, () => t.fail('a value'))
    t.same(idsOf(messages), await readLog(runs, response))
  }
  for (const path of ['/api/agents/writer/stream', '/ui/chat/writer', '/agui/ag-ui/writer']) {
    const refused = await post(`${path}?partial=yes`, { input: 'x' })
    t.equal(refused.status, 400, path)
  }
})

t.test('over HTTP: readers that join within a step get the values of all of it', async (t) => {
  const { origin, post, goOn, runs } = await serve(t, 2)
  const body = { input: 'x', sessionId: 's', onDisconnect: 'continue' }
  const started = await post('/api/agents/writer/stream', body)
  const runId = started.headers.get('x-run-id')!
  let after = 0
  let said = ''
  for await (const part of runs.parts(runId)) {
    after = part.seq
    if (part.type === 'text') said += part.text
    if (said === '{"name": "An') break
  }
  const follow = async (path: string, place: string) => {
    const response = await fetch(origin + path)
    t.equal(response.status, 200, path)
    const { messages, values } = await read(response, transientOf, goOn)
    requireGrowth(t, values)
    const rest = (await readLog(runs, started)).slice(after).map((id) => place + id)
    t.same(idsOf(messages), rest, 'what they have is not sent again')
  }
  await Promise.all([
    follow(`/api/runs/${runId}/stream?after=${after}&partial=true`, ''),
    follow(`/api/sessions/agent/writer/s/stream?after=1.${after}&partial=true`, '1.')
  ])
  await started.body?.cancel()
})

t.test('over sockets: an event of its own', async (t) => {
  const { origin, goOn } = await serve(t)
  const socket: Socket = io(origin, { transports: ['websocket'], forceNew: true, reconnection: false })
  t.teardown(() => socket.disconnect())
  const values: unknown[] = []
  const events: string[] = []
  socket.onAny((event: string) => events.push(event))
  socket.on('agent.partial', ({ value }: { value: unknown }) => {
    values.push(value)
    goOn(value)
  })
  const done = new Promise<Data>((resolve) => socket.on('agent.done', resolve))
  await socket.emitWithAck('agent.run', { name: 'writer', input: 'x', partial: true })
  t.match(await done, { output: { structured: WHOLE } })
  requireGrowth(t, values)
  t.notOk(events.includes('agent.part'), 'and no other parts')
})

t.test('over the UI stream: one data part that is replaced', async (t) => {
  const { post, goOn } = await serve(t)
  const body = { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }] }
  const response = await post('/ui/chat/writer?partial=true', body)
  const partial = ({ data }: Message) => (data['type'] === 'data-structured' ? data['data'] : undefined)
  const { messages, values } = await read(response, partial, goOn)
  requireGrowth(t, values)
  t.same(values.at(-1), WHOLE)
  for (const { data } of messages)
    if (data['type'] === 'data-structured') t.match(data, { id: 'structured', transient: undefined })
})

t.test('over AG-UI: custom events', async (t) => {
  const { post, goOn } = await serve(t)
  const body = {
    threadId: 'c',
    runId: 'r',
    messages: [{ id: 'm', role: 'user', content: 'x' }],
    tools: [],
    context: []
  }
  const response = await post('/agui/ag-ui/writer?partial=true', body)
  const partial = ({ data }: Message) =>
    data['type'] === 'CUSTOM' && data['name'] === 'structured' ? data['value'] : undefined
  const { values } = await read(response, partial, goOn)
  requireGrowth(t, values)
  t.same(values.at(-1), WHOLE)
})
