import { once } from 'node:events'
import { get, request, type IncomingMessage, type ServerResponse } from 'node:http'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import mcp from '@svc/mcp'
import openai from '@svc/openai'
import openaiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import uiStream from '@svc/ui-stream'
import Fastify from 'fastify'
import t from 'tap'

const MEGABYTE = 1_000_000
const SIZE = 6 * MEGABYTE
const DELTA = 50_000
const deltas = Array.from({ length: SIZE / DELTA }, (_, n) => `${n} `.padEnd(DELTA, 'x'))
/** Pages of a log that one run has at least, as its readers read it. */
const PAGES = SIZE / 65_536

/** Revisions of APIs in beta. */
const headers = { 'openai-beta': 'agents=v1', 'anthropic-beta': 'managed-agents-2026-04-01' }

// Every wire, and how often each log was read.
const reads = new Map<string, number>()
let replies: ServerResponse[] = []
// Bytes that the connection of the last request had taken before.
let written = 0
const app = Fastify({ forceCloseConnections: true })
t.teardown(() => app.close())
const registry = createRegistry()
const model = scriptedModel({ text: deltas }, { record: false })
const agent = registry.add(
  new Agent({ name: 'writer', model, register: false, history: { compact: false, maxMessages: 1 } })
)
// Keeps no turns: a thread has its last runs, of any size.
const plain = registry.add({
  kind: 'agent',
  name: 'plain',
  async *stream() {
    for (const text of deltas) yield { type: 'text', text }
  }
})
await app.register(registryPlugin, { registry, drainTimeout: 50, retention: { maxBytes: 1e9 } })
app.addHook('preHandler', async (_request, { raw }) => {
  written = writtenTo(raw)
  replies.push(raw)
})
await app.register(mcp)
await app.register(uiStream)
await app.register(agUi)
await app.register(openai, { prefix: '/v1' })
await app.register(openaiAgents, { prefix: '/v1' })
await app.register(anthropic, { prefix: '/managed' })
const { log } = app.runs.stores
const { read } = log
log.read = (runId, after, limit) => {
  reads.set(runId, (reads.get(runId) ?? 0) + 1)
  return read.call(log, runId, after, limit)
}
const origin = await app.listen({ port: 0, host: '127.0.0.1' })
const runs: string[] = []
for (const sessionId of ['a', 'b']) {
  const run = await app.runs.start(agent, 'Write.', { sessionId })
  await run.result()
  runs.push(run.runId)
}
for (let left = 6; left > 0; left--)
  await (await app.runs.start(plain, 'Write.', { sessionId: 'c' })).result()
const [first = '', second = ''] = runs

const WHOLE: Record<string, (at: 0 | 1) => string> = {
  'a chat of the UI stream': (at) => `/chat/writer/${'ab'[at]}?limit=1`,
  'a response': (at) => `/v1/responses/resp_${runs[at]}`,
  'a list of items': (at) => `/v1/agents/sessions/${'ab'[at]}/items`,
  'the items of a turn': (at) => `/v1/agents/sessions/${'ab'[at]}/turns/${runs[at]}/items`,
  'a list of events': (at) => `/managed/v1/sessions/${'ab'[at]}/events?types[]=agent.message`
}
for (const [what, path] of Object.entries(WHOLE))
  void t.test(`${what} is made while no other one is in memory`, async (t) => {
    await begin()
    const [unread] = (await once(get(origin + path(0), { headers }), 'response')) as [IncomingMessage]
    const before = readsOf(second)
    const waiting = get(origin + path(1), { headers })
    const leaving = get(origin + path(1), { headers }).on('error', () => {})
    await until(() => replies.length === 3)
    await turns()
    t.equal(readsOf(second), before, 'the second client waits for the first one')
    leaving.destroy()
    await once(replies[2]!, 'close')
    const answered = once(waiting, 'response') as Promise<[IncomingMessage]>
    t.ok((await lengthOf(unread)) > SIZE)
    const [response] = await answered
    t.ok((await lengthOf(response)) > SIZE)
    await turns()
    const each = readsOf(second) - before
    t.ok(each >= PAGES && each < 1.5 * PAGES, `the one that left is not answered: ${each} pages`)
  })

void t.test('a client that does not read has no more than a connection takes', async (t) => {
  const batch = Array.from({ length: 100 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'resources/read',
    params: { uri: `run://${first}` }
  }))
  const STREAMS: Record<string, { open: () => ReturnType<typeof get>; all: number }> = {
    'AG-UI connect': { open: () => get(`${origin}/ag-ui/plain/threads/c/connect`), all: 6 * PAGES },
    'events of the Agents API': {
      open: () => get(`${origin}/v1/agents/sessions/c/events?after=0.0`, { headers }),
      all: 6 * PAGES
    },
    'events of Managed Agents': {
      open: () => get(`${origin}/managed/v1/sessions/c/events/stream?after=0.0`, { headers }),
      all: 6 * PAGES
    },
    'an MCP batch': { open: () => post('/mcp', batch), all: (batch.length * MEGABYTE) / 65_536 }
  }
  for (const [what, { open, all }] of Object.entries(STREAMS)) {
    await begin()
    const client = open()
    const [unread] = (await once(client, 'response')) as [IncomingMessage]
    await until(() => replies[0]!.writableNeedDrain)
    await turns()
    // How much a connection takes depends on the system, and on how busy it is.
    const taken = () => (writtenTo(replies[0]!) - written) / DELTA
    const made = total() - taken()
    t.ok(made < all / 2, `${what}: ${Math.round(made)} pages of ${Math.round(all)} were read ahead`)
    const most = total() + all / 2
    unread.destroy()
    await once(replies[0]!, 'close')
    await turns()
    const left = total()
    await turns()
    t.equal(total(), left, `${what}: nothing is read once the client has left`)
    t.ok(left < most, what)
  }
})

async function begin(): Promise<void> {
  await turns()
  replies = []
  reads.clear()
}

function post(path: string, body: object) {
  const accept = 'application/json, text/event-stream'
  const sent = request(origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept }
  })
  sent.end(JSON.stringify(body))
  return sent
}

function writtenTo({ socket }: ServerResponse): number {
  return socket?.bytesWritten ?? 0
}

function readsOf(runId: string): number {
  return reads.get(runId) ?? 0
}

function total(): number {
  return [...reads.values()].reduce((sum, each) => sum + each, 0)
}

async function lengthOf(response: IncomingMessage): Promise<number> {
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  return bytes
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}

// What the service does without anything from outside, it does in these.
async function turns(): Promise<void> {
  for (let left = 50; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}
