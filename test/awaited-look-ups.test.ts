import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import realtime from '@svc/realtime'
import registryPlugin, { createRegistry, defineRunnable, type Registry } from '@svc/registry'
import { scriptedVoice } from '@svc/testing'
import uiStream from '@svc/ui-stream'
import t from 'tap'
import { serve } from './helpers/serve.ts'

const late = defineRunnable({ kind: 'agent', name: 'late', run: () => 'better than never' })
const voice = scriptedVoice(undefined, { name: 'voice' })

/** A registry that finds its agents a moment later, as no registry of ours does yet; it lists none. */
const registry = {
  get: async (kind: string, name: string) => {
    await new Promise((resolve) => setImmediate(resolve))
    return kind === 'agent' ? [late, voice].find((each) => each.name === name) : undefined
  },
  list: () => []
} as unknown as Registry

t.test('every wire waits for a runnable that is not found at once', async (t) => {
  const { ask, rpc, connect } = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry: createRegistry() })
    await app.register(http, { prefix: '/api', registry })
    await app.register(gateway, { registry })
    await app.register(a2a, { basePath: '/a2a', registry })
    await app.register(mcp, { registry })
    await app.register(uiStream, { registry })
    await app.register(agUi, { registry })
    await app.register(openAi, { prefix: '/v1', registry })
    await app.register(openAiAgents, { prefix: '/v1', registry })
    await app.register(anthropic, { prefix: '/managed', registry })
    await app.register(realtime, { prefix: '/v1', registry })
  })
  const socket = await connect()
  const messages = [{ id: 'm', role: 'user', content: 'x', parts: [{ type: 'text', text: 'x' }] }]
  const thread = {
    threadId: 't',
    runId: 'r',
    messages,
    tools: [],
    context: [],
    state: {},
    forwardedProps: {}
  }
  const said = { role: 'user', kind: 'message', messageId: 'm', parts: [{ kind: 'text', text: 'x' }] }
  const call = (name: string) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { message: 'x' } }
  })
  const version = { 'a2a-version': '1.0' }
  const accept = { accept: 'application/json, text/event-stream' }

  const ways: Record<string, (name: string) => Promise<unknown>> = {
    HTTP: (name) => ask('POST', `/api/agents/${name}/run`, { input: 'x' }),
    'HTTP, metadata': (name) => ask('GET', `/api/agents/${name}`),
    'Socket.IO': (name) => socket.ask('agent.run', { name, input: 'x' }),
    A2A: (agentName) => rpc('/a2a', 'message/send', { message: { ...said, metadata: { agentName } } }),
    'A2A, own endpoint': (name) => rpc(`/a2a/agents/${name}`, 'message/send', { message: said }),
    'A2A, tenant': (tenant) =>
      rpc(
        '/a2a',
        'SendMessage',
        { tenant, message: { role: 'ROLE_USER', messageId: 'n', parts: [{ text: 'x' }] } },
        version
      ),
    MCP: (name) => ask('POST', '/mcp', call(name), accept),
    'UI stream': (name) => ask('POST', `/chat/${name}`, { id: 'c', messages, trigger: 'submit-message' }),
    'AG-UI': (name) => ask('POST', `/ag-ui/${name}`, thread),
    'Chat Completions': (model) =>
      ask('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] }),
    Responses: (model) => ask('POST', '/v1/responses', { model, input: 'x' }),
    'Agents API': (name) =>
      ask(
        'POST',
        '/v1/agents/sessions',
        { agent_id: name, environment: { type: 'none' }, input: 'x' },
        { 'openai-beta': 'agents=v1' }
      ),
    'Managed Agents': (agent) =>
      ask(
        'POST',
        '/managed/v1/sessions',
        {
          agent,
          environment_id: 'env_service',
          initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }]
        },
        { 'anthropic-beta': 'managed-agents-2026-04-01' }
      ),
    Models: (model) => ask('GET', `/v1/models/${model}`),
    Realtime: (name) =>
      ask('POST', '/v1/realtime/client_secrets', {
        session: { type: 'realtime', model: name === 'late' ? 'voice' : name }
      })
  }
  for (const [wire, way] of Object.entries(ways)) {
    t.match(JSON.stringify(await way('late')), /better than never|"runId"|"late"|"value":"ek_/, wire)
    t.match(JSON.stringify(await way('never')), /UNKNOWN_(?:RUNNABLE|MODEL|TOOL|AGENT)|No agent/, wire)
  }
})
