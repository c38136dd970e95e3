import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import realtime from '@svc/realtime'
import registryPlugin, { createRegistry, type RegistryPluginOptions } from '@svc/registry'
import { scriptedRunnable, scriptedVoice } from '@svc/testing'
import uiStream from '@svc/ui-stream'
import type { FastifyInstance } from 'fastify'

/**
 * Registers every surface over HTTP, each at a place of its own, for an agent `echo` and a voice agent `voice`.
 * @param options of the registry's plugin
 * @param acts of the agent; default none
 */
export async function registerEverySurface(
  app: FastifyInstance,
  options: Omit<RegistryPluginOptions, 'registry'> = {},
  acts: Parameters<typeof scriptedRunnable>[0] = []
): Promise<void> {
  const registry = createRegistry()
  registry.add(scriptedRunnable(acts, { name: 'echo' }))
  registry.add(scriptedVoice(undefined, { name: 'voice' }))
  await app.register(registryPlugin, { registry, ...options })
  await app.register(http, { prefix: '/api' })
  await app.register(uiStream)
  await app.register(openAi, { prefix: '/v1' })
  await app.register(openAiAgents, { prefix: '/v1' })
  await app.register(agUi)
  await app.register(anthropic, { prefix: '/managed' })
  await app.register(mcp)
  await app.register(a2a, { basePath: '/a2a' })
  await app.register(realtime, { prefix: '/v1' })
}
