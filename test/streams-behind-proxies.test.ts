import { request as ask, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

const WORDS = 4
/** A stream that a proxy holds back never goes on: each event waits for the one before to have been received. */
const STUCK = { timeout: 60_000 }

/** Revisions of APIs in beta. */
const BETAS = { 'openai-beta': 'agents=v1', 'anthropic-beta': 'managed-agents-2026-04-01' }

/** What starts the stream of a wire. */
const STREAMS: Record<string, { path: string; body: object; headers?: Record<string, string> }> = {
  http: { path: '/api/agents/speaker/stream', body: { input: 'Hi' } },
  'ui-stream': {
    path: '/chat/agent/speaker',
    body: { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }
  },
  'ag-ui': {
    path: '/ag-ui/agent/speaker',
    body: {
      threadId: 't',
      runId: 'r',
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [{ id: 'm', role: 'user', content: 'Hi' }]
    }
  },
  responses: { path: '/v1/responses', body: { model: 'speaker', input: 'Hi', stream: true } },
  completions: {
    path: '/v1/chat/completions',
    body: { model: 'speaker', messages: [{ role: 'user', content: 'Hi' }], stream: true }
  },
  'agents api': {
    path: '/v1/agents/sessions',
    headers: BETAS,
    body: { agent_id: 'speaker', environment: { type: 'none' }, input: 'Hi', stream: true }
  },
  mcp: {
    path: '/mcp',
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'speaker', arguments: { message: 'Hi' }, _meta: { progressToken: 1 } }
    }
  },
  'a2a, JSON-RPC': {
    path: '/a2a',
    headers: { 'a2a-version': '1.0' },
    body: { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message: message() } }
  },
  'a2a, REST': {
    path: '/a2a/message:stream',
    headers: { 'a2a-version': '1.0' },
    body: { message: message() }
  }
}

/** What begins a session of a wire, where its events are, and what is sent to it. */
const SESSIONS: Record<
  string,
  { path: string; session: object; events: string; send: string; event: object }
> = {
  'agents api': {
    path: '/v1/agents/sessions',
    session: { agent_id: 'speaker', environment: { type: 'none' } },
    events: '/events',
    send: '/events',
    event: {
      type: 'agent.session.input.message',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }]
    }
  },
  'managed agents': {
    path: '/managed/v1/sessions',
    session: { agent: 'speaker', environment_id: 'env_service' },
    events: '/events/stream?event_deltas[]=agent.message',
    send: '/events',
    event: { type: 'user.message', content: [{ type: 'text', text: 'Hi' }] }
  }
}

function message() {
  return { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
}

function wordOf(n: number): string {
  return `word-${n}`
}

/** Lets the run say its next word once the client has received the one before. */
class Gate {
  #waiting: (() => void) | undefined
  #seen = 0

  close(): void {
    this.#seen = 0
  }

  async passed(n: number): Promise<void> {
    if (this.#seen < n) await new Promise<void>((resolve) => (this.#waiting = resolve))
  }

  /** Reads a stream to its end, or to the last word, and counts the words. */
  async follow({ body }: Response, isEndless = false): Promise<number> {
    let text = ''
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      while (text.includes(wordOf(this.#seen + 1))) {
        this.#seen++
        this.#waiting?.()
      }
      if (this.#seen === WORDS && isEndless) break
    }
    return this.#seen
  }
}

t.setTimeout(120_000)

t.test('each event passes a compressing proxy on its own, on every stream of every wire', async (t) => {
  const gate = new Gate()
  const registry = createRegistry()
  registry.add({
    kind: 'agent',
    name: 'speaker',
    async *stream() {
      for (let n = 1; n <= WORDS; n++) {
        yield { type: 'data', name: 'progress', value: { progress: n, message: wordOf(n) } }
        yield { type: 'text', text: `${wordOf(n)} ` }
        await gate.passed(n)
      }
    }
  })
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(registryPlugin, { registry })
  await app.register(http, { prefix: '/api' })
  await app.register(uiStream)
  await app.register(agUi)
  await app.register(mcp)
  await app.register(openAi, { prefix: '/v1' })
  await app.register(openAiAgents, { prefix: '/v1' })
  await app.register(anthropic, { prefix: '/managed' })
  await app.register(a2a, { basePath: '/a2a', agents: registry.list() })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })

  for (const [proxy, forward] of Object.entries({
    express: forwardResponse(origin),
    next: rewrite(origin)
  })) {
    const base = await serveProxy(t, forward)
    for (const [name, { path, body, headers }] of Object.entries(STREAMS))
      await t.test(`${name}, ${proxy}`, STUCK, async (t) => {
        gate.close()
        const response = await fetch(base + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip, br', ...headers },
          body: JSON.stringify(body)
        })
        t.equal(response.status, 200)
        t.match(response.headers.get('cache-control'), /no-store.*no-transform/)
        t.equal(response.headers.get('x-accel-buffering'), 'no')
        t.equal(await gate.follow(response), WORDS)
      })
    for (const [name, { path, session, events, send, event }] of Object.entries(SESSIONS))
      await t.test(`a session that is followed, ${name}, ${proxy}`, STUCK, async (t) => {
        gate.close()
        const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip, br', ...BETAS }
        const post = async (to: string, body: object) =>
          fetch(base + to, { method: 'POST', headers, body: JSON.stringify(body) })
        const { id } = (await (await post(path, session)).json()) as { id: string }
        const response = await fetch(`${base}${path}/${id}${events}`, { headers })
        t.equal(response.status, 200)
        t.match(response.headers.get('cache-control'), /no-store.*no-transform/)
        t.equal(response.headers.get('x-accel-buffering'), 'no')
        t.ok((await post(`${path}/${id}${send}`, { events: [event] })).ok)
        t.equal(await gate.follow(response, true), WORDS)
      })
    await t.test(`a run that is read, ${proxy}`, STUCK, async (t) => {
      gate.close()
      const started = await fetch(`${base}/api/agents/speaker/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify({ input: 'Hi' })
      })
      const { runId } = (await started.json()) as { runId: string }
      const response = await fetch(`${base}/api/runs/${runId}/stream`)
      t.equal(await gate.follow(response), WORDS)
    })
  }
})

async function serveProxy(t: Test, forward: RequestHandler): Promise<string> {
  const proxy = express()
  proxy.use(compression(), forward)
  const server = proxy.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  return `http://127.0.0.1:${port}`
}

/** A handler of an express app that asks by `fetch`. */
function forwardResponse(origin: string): RequestHandler {
  return async (request, reply) => {
    const { method, url, headers } = request
    const hasBody = method !== 'GET'
    const { host: _, connection: __, 'accept-encoding': ___, ...passed } = headers as Record<string, string>
    const response = await fetch(origin + url, {
      method,
      headers: passed,
      ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' as const })
    })
    reply.status(response.status)
    for (const [name, value] of response.headers)
      if (name !== 'transfer-encoding') reply.setHeader(name, value)
    Readable.fromWeb(response.body! as never).pipe(reply)
  }
}

/** What `http-proxy` does in the rewrites of Next.js and the server of webpack. */
function rewrite(origin: string): RequestHandler {
  return (request, reply) => {
    const { method, url, headers } = request
    const onward = ask(origin + url, { method, headers } as object, (response: IncomingMessage) => {
      reply.statusCode = response.statusCode ?? 502
      for (const [name, value] of Object.entries(response.headers))
        if (value !== undefined && name !== 'transfer-encoding') reply.setHeader(name, value)
      response.pipe(reply)
    })
    request.pipe(onward)
  }
}
