import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import { grpcBinding } from '@svc/a2a/grpc'
import agUi from '@svc/ag-ui'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import registry, { createRegistry, type Registry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import uiStream from '@svc/ui-stream'
import Fastify, { type FastifyInstance } from 'fastify'
import { quick } from './quick.ts'
import { serveBare } from './serve-bare.ts'
import { serveSdk, serveSdkGrpc } from './serve-sdk.ts'
import { ANSWER, CHUNKS, SECRET } from './variants.ts'

const variant = process.argv[2] ?? ''
console.log(await serve())
await once(process, 'disconnect').catch(() => {})

async function serve(): Promise<string> {
  if (variant === 'sdk-grpc') return serveSdkGrpc()
  if (variant.startsWith('sdk-')) return serveSdk()
  const app = Fastify()
  if (variant.startsWith('bare-')) serveBare(app, variant.endsWith('-paced'))
  else await serveAgent(app)
  app.get('/heap', async ({ query }) => {
    const { collect } = query as { collect?: string }
    if (collect) await globalThis.gc?.({ type: collect as 'major' | 'minor', execution: 'async' })
    return String(process.memoryUsage().heapUsed)
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return variant === 'quick-grpc' ? grpcUrlOf(origin) : origin
}

async function serveAgent(served: FastifyInstance): Promise<void> {
  const agents = createRegistry()
  if (variant.endsWith('-sqlite')) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    await served.register(store, { url: `sqlite:${join(folder, 'bench.db')}` })
  }
  await served.register(registry, { registry: agents })
  const auth = variant.endsWith('-auth') ? { jwt: { secret: SECRET }, rbac: {} } : {}
  if (variant.startsWith('quick-'))
    await served.register(a2a, {
      basePath: '/a2a',
      agents: [quick],
      ...(variant === 'quick-grpc' && { grpc: grpcBinding({ port: 0, maxConcurrentStreams: 1_000 }) })
    })
  else if (variant.startsWith('a2a-')) {
    const reply = variant.endsWith('-message') ? 'message' : 'task'
    await served.register(a2a, { basePath: '/a2a', registry: agents, reply })
  } else if (variant === 'ui-stream') await served.register(uiStream, { prefix: '/api', registry: agents })
  else if (variant === 'ag-ui') await served.register(agUi, { prefix: '/api', registry: agents })
  else if (variant === 'responses' || variant === 'completions')
    await served.register(openAi, { prefix: '/v1', registry: agents })
  else if (variant === 'mcp') await served.register(mcp, { prefix: '/api', registry: agents })
  else await served.register(http, { prefix: '/api', ...auth })
  makeAgent(agents)
}

function makeAgent(agents: Registry): void {
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers',
    input: Type.Object({ a: Type.Number(), b: Type.Number() }),
    execute: ({ a, b }) => a + b
  })
  const usage = { promptTokens: 10, completionTokens: 20 }
  const answer = {
    text: variant === 'run-one' ? ANSWER : CHUNKS,
    usage,
    ...(variant.endsWith('-paced') && { delay: 1 })
  }
  const call = { toolCalls: [{ toolName: 'add', args: { a: 1, b: 2 } }], usage }
  // The tool's result is the last thing that the model is shown before it answers.
  const script = ({ prompt }: { prompt: readonly { role: string }[] }) =>
    variant === 'run-tool' && prompt.at(-1)?.role !== 'tool' ? call : answer
  new Agent({
    name: 'quick',
    instructions: 'Be brief.',
    model: scriptedModel(script, { record: false }),
    tools: variant === 'run-tool' ? [add] : [],
    registry: agents
  })
}

/** The host and port of gRPC, on the card. */
async function grpcUrlOf(origin: string): Promise<string> {
  const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as {
    additionalInterfaces: { url: string; transport: string }[]
  }
  return card.additionalInterfaces.find(({ transport }) => transport === 'GRPC')!.url
}
