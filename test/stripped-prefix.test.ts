import { request as ask } from 'node:http'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import registryPlugin, { createRegistry } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import { painter } from '@tools/wires/agents'
import express from 'express'
import Fastify from 'fastify'
import t, { type Test } from 'tap'

const PREFIX = '/svc'
const FORWARDED = { 'x-forwarded-for': '10.0.0.1', 'x-forwarded-prefix': PREFIX }

/** Serves every surface behind a proxy that strips a prefix. */
async function serveBehind(t: Test, { trustProxy = false, given = false }) {
  const proxy = express()
  const server = proxy.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const outside = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const urlOf = (path: string) => (given ? { url: `${outside}${PREFIX}${path}` } : {})

  const registry = createRegistry()
  registry.add(painter)
  registry.add({
    kind: 'agent',
    name: 'asker',
    run: async (_input, context) => JSON.stringify(await context.ask({ message: 'How many?' }))
  })
  registry.add({ kind: 'agent', name: 'planned', resumable: true, run: () => 'Hi' })
  const app = Fastify({ forceCloseConnections: true, ...(trustProxy && { trustProxy: '127.0.0.1' }) })
  t.teardown(() => app.close())
  await app.register(registryPlugin, { registry, drainTimeout: 50, webhooks: { allowPrivate: true } })
  await app.register(http, { prefix: '/api', ...urlOf('/api') })
  await app.register(uiStream, { prefix: '/api', ...urlOf('/api') })
  await app.register(agUi, { prefix: '/api', ...urlOf('/api') })
  await app.register(openAi, { prefix: '/v1', ...urlOf('/v1') })
  await app.register(a2a, { basePath: '/a2a', agents: [painter], ...urlOf('/a2a') })
  await app.register(mcp, {
    registry,
    authorizationServers: ['https://auth.example'],
    ...urlOf('/mcp'),
    authenticate: ({ token }) => (token === 'x' ? { sub: 'x', scopes: [] } : null)
  })
  const inside = await app.listen({ port: 0, host: '127.0.0.1' })

  proxy.use(PREFIX, (request, reply) => {
    const { method, url, headers } = request
    const forwarded = { ...headers, ...FORWARDED }
    const onward = ask(inside + url, { method, headers: forwarded }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    request.pipe(onward)
  })
  return { outside, inside }
}

/** Follows links as the client of a proxy does. */
class Client {
  readonly #outside: string

  constructor(outside: string) {
    this.#outside = outside
  }

  post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    const sent = { 'content-type': 'application/json', ...headers }
    return fetch(`${this.#outside}${PREFIX}${path}`, {
      method: 'POST',
      headers: sent,
      body: JSON.stringify(body)
    })
  }

  async get<Body>(path: string): Promise<Body> {
    return (await this.follow(`${PREFIX}${path}`)).json() as Promise<Body>
  }

  follow(link: string): Promise<Response> {
    return fetch(new URL(link, this.#outside))
  }
}

/** Links by what has them, of every surface. */
async function linksOf(client: Client): Promise<Record<string, string>> {
  const later = { prefer: 'respond-async' }
  const locationOf = (response: Response) => response.headers.get('location') ?? 'none'
  const started = await client.post('/api/agents/asker/run', { input: 'Hi', sessionId: 's' }, later)
  type List = Record<'runs' | 'inputs', { href: string }[]>
  let inputs: List['inputs'] = []
  while (inputs.length === 0) inputs = (await client.get<List>('/api/inputs')).inputs
  const planned = { kind: 'agent', name: 'planned', cron: '0 9 * * *', input: 'Hi' }
  const page = await client.follow(`${PREFIX}/api/agents?limit=1`)
  const painted = await client.post('/v1/chat/completions', {
    model: 'painter',
    messages: [{ role: 'user', content: 'Hi' }]
  })
  const chat = await client.post('/api/chat/agent/painter', {
    id: 'c',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]
  })
  const thread = await client.post('/api/ag-ui/agent/painter', {
    threadId: 't',
    runId: 'r',
    state: {},
    tools: [],
    context: [],
    forwardedProps: {},
    messages: [{ id: 'm', role: 'user', content: 'Hi' }]
  })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
  const task = await client.post('/a2a/message:send', { message }, { 'a2a-version': '1.0' })
  const challenge = (await client.post('/mcp', {})).headers.get('www-authenticate') ?? ''
  const card = await client.get<{ supportedInterfaces: { url: string }[] }>(
    '/a2a/.well-known/agent-card.json'
  )
  return {
    'a run that is started': locationOf(started),
    'a list of runs': (await client.get<List>('/api/runs')).runs[0]!.href,
    'a list of inputs': inputs[0]!.href,
    'the next page': /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? 'none',
    'a schedule': locationOf(await client.post('/api/schedules', planned)),
    'a webhook': locationOf(await client.post('/api/webhooks', { url: 'http://127.0.0.1:9/' })),
    'a file of a completion': await fileUrlIn(painted),
    'a file of a chat': await fileUrlIn(chat),
    'a file of a thread': await fileUrlIn(thread),
    'a file of a task': await fileUrlIn(task),
    'an agent card': `${card.supportedInterfaces.at(-1)?.url}/.well-known/agent-card.json`,
    'a protected resource': /resource_metadata="(.*?)"/.exec(challenge)?.[1] ?? 'none'
  }
}

// The URL below which files are, whatever surrounds it.
async function fileUrlIn(response: Response): Promise<string> {
  return /https?:\/\/[^"\s)\\]+\/files\/[^"\s)\\]+/.exec(await response.text())?.[0] ?? 'none'
}

t.test('links lead through a proxy that strips a prefix', async (t) => {
  for (const options of [{ trustProxy: true }, { given: true }]) {
    const client = new Client((await serveBehind(t, options)).outside)
    for (const [what, link] of Object.entries(await linksOf(client))) {
      // A resource at another path is served by who has the root of the host.
      if ('given' in options && what === 'a protected resource') continue
      t.equal((await client.follow(link).catch(() => undefined))?.status, 200, `${what}: ${link}`)
    }
  }
})

t.test('a prefix is believed of trusted proxies only, and if it is a path', async (t) => {
  const start = async (base: string, prefix: string) => {
    const response = await fetch(`${base}/api/agents/asker/run`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        prefer: 'respond-async',
        ...FORWARDED,
        'x-forwarded-prefix': prefix
      },
      body: JSON.stringify({ input: 'Hi' })
    })
    return response.headers.get('location')?.replace(/[^/]+$/, '')
  }
  const { inside } = await serveBehind(t, {})
  t.equal(await start(inside, PREFIX), '/api/runs/')
  const trusting = await serveBehind(t, { trustProxy: true })
  for (const [prefix, location] of [
    ['/outer, /inner/', '/outer/inner/api/runs/'],
    ['//evil.example', '/api/runs/'],
    ['/\\evil.example', '/api/runs/'],
    ['https://evil.example', '/api/runs/'],
    ['', '/api/runs/']
  ] as const)
    t.equal(await start(trusting.inside, prefix), location, prefix)
})
