import { setTimeout as wait } from 'node:timers/promises'
import gateway from '@svc/gateway'
import { createJwtAuthenticate, createScopeAuthorize } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { FastifyInstance } from 'fastify'
import { CHUNKS, SECRET } from '../quick.ts'

const usage = { promptTokens: 10, completionTokens: 20 }

/** Serves agents over sockets, whose callers have a token: the same chunks at once and 1 ms apart, with a model and without. */
export async function serveGateway(served: FastifyInstance): Promise<void> {
  const agents = createRegistry()
  for (const delay of [undefined, 1]) {
    const name = delay === undefined ? 'at-once' : 'paced'
    agents.add({ kind: 'agent', name, stream: () => saySlowly(delay) })
    const answer = { text: CHUNKS, usage, ...(delay !== undefined && { delay }) }
    new Agent({
      name: `agent-${name}`,
      model: scriptedModel(answer, { record: false }),
      registry: agents
    })
  }
  await served.register(registry, { registry: agents })
  await served.register(gateway, {
    authenticate: await createJwtAuthenticate({ secret: SECRET }),
    authorize: createScopeAuthorize({}),
    limits: { eventsPerSecond: 100_000 }
  })
}

async function* saySlowly(delay: number | undefined): AsyncGenerator<{ type: 'text'; text: string }> {
  for (const text of CHUNKS) {
    if (delay !== undefined) await wait(delay)
    yield { type: 'text', text }
  }
}
