import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import http from '@svc/http'
import registryPlugin, {
  createRegistry,
  type RegistryPluginOptions,
  type RunnableDefinition
} from '@svc/registry'
import Fastify from 'fastify'

/** What a client was answered. */
export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Record<string, unknown> & { code?: string; runId: string }
}

/** What a test may ask for. */
export interface PlainRequest {
  runnables: RunnableDefinition[]
  engine?: Omit<RegistryPluginOptions, 'registry'>
  port?: number
}

/** A plain Fastify app, as everybody makes it, and a client that takes a new connection for each request. */
export async function servePlain(
  t: { teardown(fn: () => unknown): unknown },
  { runnables, engine, port = 0 }: PlainRequest
) {
  const app = Fastify()
  const registry = createRegistry()
  for (const runnable of runnables) registry.add(runnable)
  await app.register(registryPlugin, { registry, drainTimeout: 20_000, ...engine })
  await app.register(http, { prefix: '/api' })
  const origin = await app.listen({ port, host: '127.0.0.1' })
  t.teardown(() => app.close())

  /** The response, as soon as it begins. */
  async function open(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const json = body && JSON.stringify(body)
    const sent = request(`${origin}/api${path}`, {
      method,
      agent: false,
      headers: { ...(json && { 'content-type': 'application/json' }), ...headers }
    })
    sent.end(json)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }

  /** The whole response. */
  async function ask(...asked: Parameters<typeof open>): Promise<Answer> {
    const response = await open(...asked)
    const body = JSON.parse((await text(response)) || '{}') as Answer['body']
    return { status: response.statusCode!, headers: response.headers, body }
  }

  /** Starts a run that goes on without its client, and gives its id. */
  async function start(path: string): Promise<string> {
    return (await ask('POST', `/${path}/run`, { input: 'x' }, { prefer: 'respond-async' })).body.runId
  }

  /** The id of an approval, once one waits. */
  async function pendingApproval(): Promise<string> {
    for (;;) {
      const { body } = await ask('GET', '/approvals')
      const [approval] = body['approvals'] as { approvalId: string }[]
      if (approval !== undefined) return approval.approvalId
    }
  }

  return { app, origin, open, ask, start, pendingApproval }
}
