import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import { Agent, defineTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import uiStream from '@svc/ui-stream'
import t, { type Test } from 'tap'
import { serve } from './helpers/serve.ts'

/** An app with every surface that takes answers, whose agent asks an approval, then a question, and keeps a diary. */
async function serveDiary(t: Test) {
  const registry = createRegistry()
  const tools = [
    defineTool({
      name: 'burn',
      description: 'Burns the diary',
      input: Type.Object({}),
      approval: true,
      execute: () => 'diary: burnt'
    }),
    defineTool({
      name: 'pick',
      description: 'Asks which page',
      input: Type.Object({}),
      execute: async (_args, { ask }) =>
        ask({ message: 'Which page?', schema: Type.Object({ page: Type.Integer() }) })
    })
  ]
  const model = scriptedModel(({ prompt }) => {
    const said = JSON.stringify(prompt)
    if (prompt.at(-1)?.role === 'tool') return 'diary: the end'
    return { text: 'diary: I begin', toolCalls: [{ toolName: said.includes('burn it') ? 'burn' : 'pick' }] }
  })
  registry.add(new Agent({ name: 'keeper', register: false, model, tools }))
  const authenticate = ({ token = '' }) => {
    const [sub = '', ...scopes] = token.split(' ')
    return sub === '' ? null : { sub, scopes }
  }
  const served = await serve(t, async (app) => {
    await app.register(registryPlugin, { registry, authenticate })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway, { transports: ['websocket'] })
    await app.register(a2a, {
      basePath: '/a2a',
      exposeToolResults: true,
      pushNotifications: { allowPrivate: true }
    })
    await app.register(agUi)
    await app.register(uiStream)
    await app.register(openAi, { prefix: '/v1' })
    await app.register(openAiAgents, { prefix: '/v1' })
    await app.register(anthropic, { prefix: '/managed' })
    await app.register(mcp)
  })
  const { runs } = served.app
  /** Starts a run of Ann's, which asks. */
  const start = async (input: string) => {
    const sessionId = randomUUID()
    const principal = { sub: 'ann', scopes: [] }
    const run = await runs.start(registry.get('agent', 'keeper')!, input, {
      principal,
      sessionId,
      onDisconnect: 'continue'
    })
    for await (const part of run.parts()) {
      if (part.type === 'tool.approval.request')
        return { runId: run.runId, sessionId, inputId: part.approvalId }
      if (part.type === 'input.request') return { runId: run.runId, sessionId, inputId: part.inputId }
    }
    throw new Error('it asks nothing')
  }
  return { ...served, runs, start }
}

t.test(
  'others who may answer send a complete answer, get a bare state, and leave nothing else',
  async (t) => {
    const { ask, rpc, connect, runs, start } = await serveDiary(t)
    const eva = { authorization: 'Bearer eva approvals:answer inputs:answer' }
    const socket = await connect('/', { token: 'eva approvals:answer inputs:answer' })
    type Asked = Awaited<ReturnType<typeof start>>
    type List = 'approvals' | 'inputs'
    const answers = {
      approvals: { approved: true, reason: 'eva says so' },
      inputs: { action: 'accept', content: { page: 7 } }
    } as const
    const say = ({ runId }: Asked, part: object, more: object = {}) => ({
      message: { messageId: randomUUID(), role: 'ROLE_USER', taskId: runId, parts: [part], ...more }
    })
    const data = (list: List, { inputId }: Asked) => ({
      data: { [list === 'approvals' ? 'approvalId' : 'inputId']: inputId, ...answers[list] }
    })
    const others = { ...eva, 'openai-beta': 'agents=v1', 'anthropic-beta': 'managed-agents-2026-04-01' }
    const v1 = { ...eva, 'a2a-version': '1.0' }
    const resume = ({ sessionId, inputId }: Asked, payload: unknown) =>
      ask(
        'POST',
        '/ag-ui/keeper',
        {
          threadId: sessionId,
          runId: 'r',
          messages: [{ id: 'm', role: 'user', content: 'eva was here' }],
          tools: [],
          context: [],
          state: {},
          forwardedProps: {},
          resume: [{ interruptId: inputId, status: 'resolved', payload }]
        },
        eva
      )
    // Every wire that answers: what it takes of others, and what it refuses of them.
    const takes: Record<string, (asked: Asked, list: List) => Promise<unknown>> = {
      HTTP: async (asked, list) => {
        const { status, body } = await ask('POST', `/api/${list}/${asked.inputId}`, answers[list], eva)
        t.equal(status, 200)
        t.same(Object.keys(body), ['runId', 'status'])
        return body
      },
      sockets: async (asked, list) => {
        const id = list === 'approvals' ? { approvalId: asked.inputId } : { inputId: asked.inputId }
        const ack = await socket.ask(list === 'approvals' ? 'approval.answer' : 'input.answer', {
          ...id,
          ...answers[list]
        })
        t.same(ack, { ok: true })
        return ack
      },
      'A2A, JSON-RPC': async (asked, list) => {
        const result = await rpc('/a2a', 'SendMessage', say(asked, data(list, asked)), v1)
        t.same(Object.keys(result.task), ['id', 'contextId', 'status'])
        t.same(Object.keys(result.task.status), ['state'])
        return result
      },
      'A2A, HTTP+JSON, as a stream': async (asked, list) => {
        const { status, body } = await ask('POST', '/a2a/message:stream', say(asked, data(list, asked)), v1)
        t.equal(status, 200)
        t.equal(String(body).match(/data:/g)?.length, 1)
        return body
      },
      'A2A 0.3': (asked, list) => {
        const part = { kind: 'data', ...data(list, asked) }
        return rpc('/a2a', 'message/send', say(asked, part, { role: 'user', kind: 'message' }), eva)
      },
      'AG-UI': async (asked, list) => {
        const { status, body } = await resume(asked, list === 'approvals' ? answers[list] : { page: 7 })
        t.equal(status, 200, body)
        const events = String(body).matchAll(/"type":"([A-Z_]+)"/g)
        t.same(
          Array.from(events, ([, type]) => type),
          ['RUN_STARTED', 'RUN_FINISHED']
        )
        return body
      }
    }
    const refuses: Record<string, (asked: Asked, list: List) => Promise<unknown>> = {
      'A2A: a text': async (asked) =>
        t.match(await rpc('/a2a', 'SendMessage', say(asked, { text: 'eva was here' }), v1), { code: -32602 }),
      'A2A: a text, as a stream': async (asked) =>
        t.match(await ask('POST', '/a2a/message:stream', say(asked, { text: 'eva was here' }), v1), {
          status: 400
        }),
      'A2A: data that is no answer': async (asked, list) =>
        t.match(
          await rpc(
            '/a2a',
            'SendMessage',
            say(asked, { data: { ...data(list, asked).data, note: 'eva' } }),
            v1
          ),
          { code: -32602 }
        ),
      'A2A: a receiver of what follows': async (asked, list) =>
        t.match(
          await rpc(
            '/a2a',
            'SendMessage',
            {
              ...say(asked, data(list, asked)),
              configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:9/eva' } }
            },
            v1
          ),
          { code: -32602 }
        ),
      'A2A: the task': async ({ runId }) =>
        t.match(await rpc('/a2a', 'GetTask', { id: runId }, v1), { code: -32001 }),
      'AG-UI: half an answer': async (asked) => t.match(await resume(asked, { page: 'x' }), { status: 400 }),
      'AG-UI: the thread': async ({ sessionId }) => {
        const { body } = await ask('GET', `/ag-ui/keeper/threads/${sessionId}/connect`, undefined, eva)
        t.notMatch(String(body), /diary/)
      },
      'UI stream': async ({ runId, sessionId, inputId }) => {
        const part = { type: 'tool-burn', toolCallId: inputId, state: 'approval-responded', input: {} }
        const parts = [{ ...part, approval: { id: inputId, approved: true } }]
        const body = { id: sessionId, messages: [{ id: runId, role: 'assistant', parts }] }
        t.match(await ask('POST', '/chat/keeper', body, eva), { status: 404 })
      },
      Responses: async ({ runId, inputId }) => {
        const input = [{ type: 'mcp_approval_response', approval_request_id: inputId, approve: true }]
        const body = { model: 'keeper', previous_response_id: `resp_${runId}`, input }
        t.match(await ask('POST', '/v1/responses', body, eva), { status: 404 })
      },
      'Agents API: an answer': async ({ runId, sessionId, inputId }, list) => {
        const event =
          list === 'approvals'
            ? {
                type: 'agent.session.input.mcp_approval_request_result',
                request_id: inputId,
                response: { type: 'mcp_tool_call', decision: 'approve' }
              }
            : {
                type: 'agent.session.input.tool_result',
                turn_id: runId,
                call_id: inputId,
                success: true,
                output: '{"page":7}'
              }
        const path = `/v1/agents/sessions/${sessionId}`
        t.match(await ask('POST', `${path}/events`, { events: [event] }, others), { status: 404 })
        for (const read of ['', '/events', '/items', '/turns', `/turns/${runId}`, '/subagents'])
          t.match(await ask('GET', path + read, undefined, others), { status: 404 }, read)
      },
      'Managed Agents: an answer': async ({ runId, sessionId }, list) => {
        const path = `/managed/v1/sessions/${sessionId}`
        const ann = { ...others, authorization: 'Bearer ann' }
        const own = await ask('GET', `${path}/events?types[]=session.status_idle`, undefined, ann)
        const [eventId] = own.body.data[0].stop_reason.event_ids
        const event =
          list === 'approvals'
            ? { type: 'user.tool_confirmation', tool_use_id: eventId, result: 'allow' }
            : {
                type: 'user.custom_tool_result',
                custom_tool_use_id: eventId,
                content: [{ type: 'text', text: '{"page":7}' }]
              }
        t.match(await ask('POST', `${path}/events`, { events: [event] }, others), { status: 404 })
        const thread = `/threads/sthr_${runId}_1`
        for (const read of ['', '/events', '/events/stream', '/threads', thread, `${thread}/events`])
          t.match(await ask('GET', path + read, undefined, others), { status: 404 }, read)
      },
      'MCP: a call': async ({ runId, inputId }) => {
        const params = {
          name: 'keeper',
          requestState: `${runId}.1`,
          inputResponses: { [inputId]: { action: 'accept', content: { approved: true } } }
        }
        t.match(await rpc('/mcp', 'tools/call', params, eva), { code: Number })
      }
    }
    for (const list of ['approvals', 'inputs'] as const) {
      const input = list === 'approvals' ? 'burn it' : 'which?'
      const untouched = await start(input)
      for (const [name, refuse] of Object.entries(refuses))
        await t.test(`${name}: ${list}`, () => refuse(untouched, list))
      t.match(await runs.find(untouched.runId), { status: 'input-required' })
      t.equal(await runs.stores.tasks.get(untouched.runId), undefined, 'nothing is stored')
      await runs.cancel(untouched.runId)
      for (const [name, take] of Object.entries(takes)) {
        const asked = await start(input)
        const reply = JSON.stringify(await take(asked, list))
        t.notMatch(reply, /diary|Which page/, `${name}: nothing of the run (${list})`)
        for await (const _ of runs.parts(asked.runId)) continue
        t.match(await runs.find(asked.runId), { status: 'completed' }, name)
        t.equal(await runs.stores.tasks.get(asked.runId), undefined, `${name}: nothing is stored`)
      }
    }
  }
)
