import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, defineRunnable } from '@svc/registry'
import t from 'tap'
import { fillSessions } from '../bench/soak/busy.ts'
import { serve, until, type Client, type Served } from './helpers/serve.ts'

type Send = (text: string, whenBusy?: string) => Promise<Record<string, unknown>>
type Test = Parameters<typeof serve>[0]

/** An agent that says what it was told, and a first message that holds the turn of the session until the gate opens. */
async function serveTalker(t: Test) {
  const gate = Promise.withResolvers<void>()
  const heard: unknown[] = []
  const talker = defineRunnable({
    kind: 'agent',
    name: 'talker',
    takesTurns: true,
    steerable: true,
    async run(input, { steering }) {
      const text = typeof input === 'string' ? input : JSON.stringify(input)
      heard.push(text)
      if (text.includes('endless')) await new Promise(() => {})
      if (text.includes('first')) await gate.promise
      for (let closed = false; !closed; closed = steering!.close())
        for (const { message } of steering!.take()) heard.push(message)
      return text
    }
  })
  const registry = createRegistry()
  registry.add(talker)
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway)
    await app.register(a2a, { basePath: '/a2a' })
  })
  return { served, heard, open: () => gate.resolve() }
}

// How a client of each surface sends a message to the session "s", and learns the id of its run.
function sendersOf(served: Served, client: Client): Record<'http' | 'socket' | 'a2a', Send> {
  return {
    async http(input, whenBusy) {
      const body = { input, sessionId: 's', whenBusy }
      const headers = { prefer: 'respond-async' }
      return (await served.ask('POST', '/api/agents/talker/run', body, headers)).body
    },
    socket: (input, whenBusy) => client.ask('agent.run', { name: 'talker', input, sessionId: 's', whenBusy }),
    async a2a(text, whenBusy) {
      const message = {
        kind: 'message',
        messageId: text,
        role: 'user',
        contextId: 's',
        parts: [{ kind: 'text', text }],
        ...(whenBusy !== undefined && { metadata: { whenBusy } })
      }
      const params = { message, configuration: { blocking: false } }
      const reply = await served.rpc('/a2a', 'message/send', params)
      return reply.id === undefined ? reply : { runId: reply.id, status: reply.status.state }
    }
  }
}

async function recordOf(served: Served, runId: unknown) {
  return (await served.ask('GET', `/api/runs/${String(runId)}`)).body
}

t.test('messages of three surfaces wait for their turn in the order of acceptance', async (t) => {
  const { served, heard, open } = await serveTalker(t)
  const send = sendersOf(served, await served.connect())
  const ids = [
    await send.http('first'),
    await send.socket('second'),
    await send.a2a('third'),
    await send.http('fourth'),
    await send.a2a('fifth')
  ].map(({ runId }) => String(runId))
  const record = (runId: string) => recordOf(served, runId)
  t.match(await record(ids[0]!), { status: 'working' })
  for (const [position, runId] of ids.entries())
    if (position > 0) t.match(await record(runId), { status: 'submitted', queuePosition: position })
  const { body } = await served.ask('GET', '/api/runs?status=submitted')
  t.same(
    body.runs.map(({ queuePosition }: { queuePosition: number }) => queuePosition),
    [4, 3, 2, 1]
  )
  t.equal((await served.rpc('/a2a', 'tasks/get', { id: ids[1] })).status.state, 'submitted')
  t.equal((await served.ask('POST', `/api/runs/${ids[2]}/cancel`, {})).status, 200)
  t.match(await record(ids[3]!), { queuePosition: 2 })
  open()
  await until(
    () => record(ids[4]!),
    ({ status }) => status === 'completed'
  )
  t.same(
    heard.map((text) => /first|second|third|fourth|fifth/.exec(String(text))?.[0]),
    ['first', 'second', 'fourth', 'fifth'],
    'the canceled one never executes'
  )
})

t.test('a stream of a queued run begins with its place', async (t) => {
  const { served, open } = await serveTalker(t)
  const send = sendersOf(served, await served.connect())
  const { runId } = await send.http('first')
  const response = await fetch(`${served.origin}/api/agents/talker/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'second', sessionId: 's' })
  })
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('"queue"')) open()
  }
  const parts = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  t.match(parts[0], { type: 'start', queued: true })
  t.match(parts[1], { type: 'data', name: 'queue', value: { position: 1 }, transient: true })
  t.notOk('seq' in parts[1])
  t.equal(parts.at(-1).type, 'finish')
  t.ok(runId)
})

t.test('each surface refuses a message to a busy session if it asks for that', async (t) => {
  const { served, heard, open } = await serveTalker(t)
  const send = sendersOf(served, await served.connect())
  const { runId } = await send.socket('first', 'reject')
  t.match(await send.http('x', 'reject'), { statusCode: 409, code: 'RUN_ERR_SESSION_BUSY', runId })
  t.match(await send.socket('x', 'reject'), { code: 'RUN_ERR_SESSION_BUSY', runId })
  const refused = await send.a2a('x', 'reject')
  t.match(refused, { code: -32004, data: { code: 'RUN_ERR_SESSION_BUSY', taskId: runId } })
  open()
  await until(
    () => recordOf(served, runId),
    ({ status }) => status === 'completed'
  )
  const free = await send.a2a('free again', 'reject')
  await until(
    () => recordOf(served, free['runId']),
    ({ status }) => status === 'completed'
  )
  t.equal(heard.length, 2)
})

t.test('over each surface a message cancels the run that has the turn', async (t) => {
  const { served, heard } = await serveTalker(t)
  const send = sendersOf(served, await served.connect())
  const surfaces = ['http', 'socket', 'a2a'] as const
  let last = await send.http('endless')
  for (const surface of surfaces)
    for (const whenBusy of ['interrupt', 'replace']) {
      const next = await send[surface](`endless ${surface} ${whenBusy}`, whenBusy)
      t.not(next['runId'], last['runId'])
      await until(
        () => recordOf(served, next['runId']),
        ({ status }) => status === 'working'
      )
      t.match(await recordOf(served, last['runId']), { status: 'canceled' })
      last = next
    }
  t.equal(heard.length, 7, 'each executes once')
  await served.ask('POST', `/api/runs/${String(last['runId'])}/cancel`, {})
})

t.test('over each surface a message joins the run under way', async (t) => {
  const { served, heard, open } = await serveTalker(t)
  const client = await served.connect()
  const send = sendersOf(served, client)
  const { runId } = await send.http('first')
  t.match(await send.http('over http', 'steer'), { runId, joined: true })
  t.match(await send.socket('over a socket', 'steer'), { runId, joined: true })
  t.match(await send.a2a('over a2a', 'steer'), { runId, status: 'working' })
  const message = (messageId: string) => ({
    message: {
      kind: 'message',
      role: 'user',
      taskId: runId,
      messageId,
      parts: [{ kind: 'text', text: messageId }]
    },
    configuration: { blocking: false }
  })
  t.match(await served.rpc('/a2a', 'message/send', message('to the task')), { id: runId })
  const { history } = await served.rpc('/a2a', 'tasks/get', { id: runId })
  t.same(
    history.map(({ messageId }: { messageId: string }) => messageId).filter((id: string) => id.includes(' ')),
    ['over a2a', 'to the task']
  )
  const image = [{ type: 'image', mimeType: 'image/png', url: 'https://example.org/a.png' }]
  t.match(await send.http(image as never, 'steer'), { statusCode: 400, code: 'RUN_ERR_WHEN_BUSY' })
  open()
  await until(
    () => recordOf(served, runId),
    ({ status }) => status === 'completed'
  )
  t.same(heard.slice(1), ['over http', 'over a socket', 'over a2a', 'to the task'])
  t.match(await served.rpc('/a2a', 'message/send', message('late')), { code: -32004 })
})

t.test('a value that no surface knows is refused', async (t) => {
  const { served, heard } = await serveTalker(t)
  const send = sendersOf(served, await served.connect())
  t.match(await send.http('x', 'sometimes'), { statusCode: 400 })
  t.match(await send.socket('x', 'sometimes'), { code: 'GTW_ERR_BAD_PAYLOAD' })
  t.match(await send.a2a('x', 'sometimes'), { code: -32602 })
  t.equal(heard.length, 0)
})

t.test('several messages at once to each of many sessions', async (t) => {
  const seed = Date.now() % 1e9
  for (const whenBusy of ['queue', 'reject', 'steer', 'interrupt', 'replace'] as const) {
    const load = { store: 'memory', whenBusy, sessions: 20, batch: 20, seed } as const
    const { messages, joined, refused, canceled, ...faults } = await fillSessions(load)
    t.same(
      Object.entries(faults).filter(([, count]) => count > 0),
      [],
      `${whenBusy}, seed ${seed}`
    )
    t.ok(messages >= 40)
    const { steer = 0, reject = 0, interrupt, replace } = { [whenBusy]: 1 } as Partial<Record<string, number>>
    t.equal(joined > 0, steer === 1)
    t.equal(refused > 0, reject === 1)
    t.equal(canceled > 0, (interrupt ?? replace) === 1)
  }
})
