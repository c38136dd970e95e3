import { once } from 'node:events'
import { createOpenAI } from '@ai-sdk/openai'
import { RealtimeAgent, RealtimeSession, tool } from '@openai/agents-realtime'
import type { ClientEvent, ServerEvent } from '@svc/realtime'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { WebSocket } from 'ws'
import { z } from 'zod'

/** A client in a call. */
export interface RealtimeClient {
  send(event: ClientEvent): void
  /** True if it executes its tools, and truncates interrupted answers, by itself. */
  readonly isAutomatic: boolean
  /** Breaks the connection. */
  drop(): void
  hangUp(): void
}

/** What a client is created with. */
export interface ClientOptions {
  /** `127.0.0.1:port` of a service with TLS. */
  readonly host: string
  /** The query of the WebSocket. */
  readonly query: Readonly<Record<string, string>>
  receive(event: ServerEvent): void
}

/** Executes the tool of the client. */
export const clock = ({ of }: { of: string }): string => `time of ${of}`

const TOOL = {
  type: 'function' as const,
  name: 'clock',
  description: 'The time of a place',
  parameters: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] }
}
// Certificates of tests are signed by themselves.
const INSECURE = { rejectUnauthorized: false }

async function openai({ host, query, receive }: ClientOptions): Promise<RealtimeClient> {
  const client = new OpenAI({ apiKey: 'none', baseURL: `https://${host}/v1` })
  const target = query['call'] === undefined ? { model: 'phone' } : { callID: query['call'] }
  const ws = new OpenAIRealtimeWS({ ...target, options: INSECURE }, client)
  ws.on('error', () => {})
  ws.on('event', (event) => receive(event as ServerEvent))
  await once(ws.socket, 'open')
  const send = (event: ClientEvent) => ws.send(event as never)
  send({ type: 'session.update', session: { type: 'realtime', tools: [TOOL] } })
  return { send, isAutomatic: false, drop: () => ws.socket.terminate(), hangUp: () => ws.close() }
}

async function agents({ host, query, receive }: ClientOptions): Promise<RealtimeClient> {
  const parameters = z.object({ of: z.string() })
  const execute = tool({ name: 'clock', description: 'The time of a place', parameters, execute: clock })
  const agent = new RealtimeAgent({ name: 'helper', instructions: 'Be brief.', tools: [execute] })
  let socket: WebSocket | undefined
  const { OpenAIRealtimeWebSocket } = await import('@openai/agents-realtime')
  const transport = new OpenAIRealtimeWebSocket({
    createWebSocket: async ({ url }) => {
      socket = new WebSocket(url, INSECURE)
      return socket as never
    }
  })
  const session = new RealtimeSession(agent, { transport, model: 'phone' })
  session.on('error', ({ error }) => receive({ type: 'error', event_id: '', error: error as never }))
  session.on('transport_event', (event) => receive(event as ServerEvent))
  await session.connect({
    apiKey: 'none',
    url: `wss://${host}/v1/realtime?${new URLSearchParams(query).toString()}`
  })
  return {
    send: (event) => session.transport.sendEvent(event as never),
    isAutomatic: true,
    drop: () => socket!.terminate(),
    hangUp: () => session.close()
  }
}

async function aiSdk({ host, query, receive }: ClientOptions): Promise<RealtimeClient> {
  const model = createOpenAI({ baseURL: `https://${host}/v1`, apiKey: 'none' }).experimental_realtime('phone')
  const { url, protocols, headers } = (await model.getServerWebSocketConfig!({})) as {
    url: string
    protocols?: string[]
    headers?: Record<string, string>
  }
  const address = new URL(url)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  const ws = new WebSocket(address, protocols ?? [], { headers: headers ?? {}, ...INSECURE })
  ws.on('message', (data) => {
    const parsed = model.parseServerEvent(JSON.parse((data as Buffer).toString()))
    for (const { raw } of [parsed].flat()) receive(raw as ServerEvent)
  })
  await once(ws, 'open')
  const config = { tools: [TOOL], turnDetection: { type: 'server-vad' as const } }
  ws.send(JSON.stringify(model.serializeClientEvent({ type: 'session-update', config } as never)))
  const send = (event: ClientEvent) =>
    ws.send(JSON.stringify(model.serializeClientEvent(toNeutral(event) as never) ?? event))
  return { send, isAutomatic: false, drop: () => ws.terminate(), hangUp: () => ws.close() }
}

// The events of the AI SDK that this test sends.
function toNeutral(event: ClientEvent): object {
  switch (event.type) {
    case 'input_audio_buffer.append':
      return { type: 'input-audio-append', audio: event.audio }
    case 'response.create':
      return { type: 'response-create' }
    case 'conversation.item.truncate': {
      const { item_id: itemId, content_index: contentIndex, audio_end_ms: audioEndMs } = event
      return { type: 'conversation-item-truncate', itemId, contentIndex, audioEndMs }
    }
    case 'conversation.item.create': {
      const { item } = event
      if (item.type === 'function_call_output')
        return {
          type: 'conversation-item-create',
          item: { type: 'function-call-output', callId: item.call_id, output: item.output }
        }
      const [content] = (item as { content: { text: string }[] }).content
      return {
        type: 'conversation-item-create',
        item: { type: 'text-message', role: 'user', text: content!.text }
      }
    }
    default:
      throw new Error(`not sent: ${event.type}`)
  }
}

/** The unmodified clients of the protocol. */
export const REALTIME_CLIENTS = { openai, agents, aiSdk }
