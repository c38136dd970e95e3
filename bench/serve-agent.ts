import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import registry, { createRegistry, type Registry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { FastifyInstance } from 'fastify'
import { FIRST_TOKEN, quick, SECRET } from './quick.ts'
import { toScript } from './script.ts'

/** Serves the agent `quick` on the wire of a variant. */
export async function serveAgent(served: FastifyInstance, variant: string): Promise<void> {
  const agents = createRegistry()
  const url = await startDatabase(variant)
  if (url !== undefined) await served.register(import('@svc/store'), { url })
  const kept = variant === 'sessions' ? { retention: { maxRuns: 100 } } : {}
  await served.register(registry, { registry: agents, limits: { maxRuns: 10_000 }, ...kept })
  await serveWire(served, variant, agents)
  makeAgent(agents, variant)
}

async function startDatabase(variant: string): Promise<string | undefined> {
  if (variant.endsWith('-postgres')) return (await (await import('@tools/postgres')).startPostgres()).url
  if (!variant.endsWith('-sqlite')) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return `sqlite:${join(folder, 'bench.db')}`
}

async function serveWire(served: FastifyInstance, variant: string, agents: Registry): Promise<void> {
  const [wire = ''] = variant.split('-', 1)
  if (wire === 'quick') {
    const { grpcBinding } = await import('@svc/a2a/grpc')
    const grpc =
      variant === 'quick-grpc' ? { grpc: grpcBinding({ port: 0, maxConcurrentStreams: 1_000 }) } : {}
    await served.register(import('@svc/a2a'), { basePath: '/a2a', agents: [quick], ...grpc })
  } else if (wire === 'a2a') {
    const reply = variant.endsWith('-message') ? 'message' : 'task'
    await served.register(import('@svc/a2a'), { basePath: '/a2a', registry: agents, reply })
  } else if (wire === 'ui')
    await served.register(import('@svc/ui-stream'), { prefix: '/api', registry: agents })
  else if (wire === 'ag') await served.register(import('@svc/ag-ui'), { prefix: '/api', registry: agents })
  else if (wire === 'responses' || wire === 'completions')
    await served.register(import('@svc/openai'), { prefix: '/v1', registry: agents })
  else if (wire === 'agents')
    await served.register(import('@svc/openai/agents'), { prefix: '/v1', registry: agents })
  else if (wire === 'managed') await served.register(import('@svc/anthropic'), { registry: agents })
  else if (wire === 'mcp') await served.register(import('@svc/mcp'), { prefix: '/api', registry: agents })
  else {
    const auth = variant.endsWith('-auth') ? { jwt: { secret: SECRET }, rbac: {} } : {}
    await served.register(import('@svc/http'), { prefix: '/api', ...auth })
  }
}

function makeAgent(agents: Registry, variant: string): void {
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers',
    input: Type.Object({ a: Type.Number(), b: Type.Number() }),
    execute: ({ a, b }) => a + b
  })
  const model = scriptedModel(toScript(variant), { record: false })
  const slow: typeof model = {
    ...model,
    async doStream(options) {
      await wait(FIRST_TOKEN)
      return model.doStream(options)
    }
  }
  new Agent({
    name: 'quick',
    instructions: 'Be brief.',
    model: variant.endsWith('-first') ? slow : model,
    tools: variant === 'run-tool' ? [add] : [],
    registry: agents
  })
}
