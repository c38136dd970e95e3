import { randomUUID } from 'node:crypto'
import type { NumberedPart } from '@svc/registry'
import { io } from 'socket.io-client'
import { answerTo } from './plan.ts'
import type { Job } from './random-plan.ts'
import { Fatal, type Service } from './service.ts'

/** The ways in which a run is started, and in which what it waits for is answered. */
export const SURFACES = ['http', 'socket', 'a2a'] as const
export type Surface = (typeof SURFACES)[number]

/** A part that waits for an answer. */
export type Asking = Extract<NumberedPart, { type: 'tool.approval.request' | 'input.request' }>

/** True for a part that waits for an answer. */
export function isAsking(part: NumberedPart): part is Asking {
  return part.type === 'tool.approval.request' || part.type === 'input.request'
}

/** Tools that the client serves, as a request offers them. */
const CLIENT_TOOLS = [
  {
    name: 'pick',
    description: 'Picks one',
    input: { type: 'object', properties: { key: { type: 'string' } } }
  }
]
const jsonHeaders = { 'content-type': 'application/json' }

/** Starts a run that continues without its client; gives its id. Over HTTP the same job is started once, however often it is sent. */
export async function startJob(
  service: Service,
  { id, kind, name, plan }: Job,
  surface: Surface
): Promise<string> {
  const input = JSON.stringify(plan)
  const tools = input.includes('"pick"') && { tools: CLIENT_TOOLS }
  return service.persist(async (url) => {
    if (surface === 'a2a') {
      const task = await callA2a(url, 'message/send', {
        message: { role: 'user', parts: [{ kind: 'text', text: input }], metadata: { agentName: name } },
        configuration: { blocking: false }
      })
      if (task.result === undefined) throw new Fatal(`A2A refused ${input}: ${JSON.stringify(task.error)}`)
      return (task.result as { id: string }).id
    }
    if (surface === 'socket') {
      const event = { name, input, onDisconnect: 'continue', ...tools }
      const ack = (await emit(url, `${kind}.run`, event)) as { runId?: string }
      if (ack.runId === undefined) throw new Fatal(`a socket refused ${input}: ${JSON.stringify(ack)}`)
      return ack.runId
    }
    const response = await fetch(`${url}/api/${kind}s/${name}/run`, {
      method: 'POST',
      headers: { ...jsonHeaders, prefer: 'respond-async', 'idempotency-key': id },
      body: JSON.stringify({ input, ...tools })
    })
    const body = (await response.json()) as { runId?: string }
    if (response.status !== 202) throw new Fatal(`HTTP refused ${input}: ${JSON.stringify(body)}`)
    return body.runId!
  })
}

/** Continues the session of a run that has ended; gives the answer, which is a digest of the conversation. */
export async function recall(service: Service, { kind, name }: Job, sessionId: string): Promise<string> {
  return service.persist(async (url) => {
    const response = await fetch(`${url}/api/${kind}s/${name}/run`, {
      method: 'POST',
      headers: jsonHeaders,
      body: JSON.stringify({ input: 'Recall.', sessionId })
    })
    return ((await response.json()) as { text: string }).text
  })
}

/** Answers what a run asks, as `plan.ts` has it, until the answer or an earlier one counts. */
export async function answer(
  service: Service,
  runId: string,
  asking: Asking,
  surface: Surface
): Promise<void> {
  const { path, event, body } = toAnswer(asking)
  await service.persist(async (url) => {
    if (surface === 'a2a') {
      const message = { role: 'user', messageId: randomUUID(), taskId: runId }
      const parts = [{ kind: 'data', data: { ...event.id, ...body } }]
      const { error } = await callA2a(url, 'message/send', { message: { ...message, parts } })
      // It is no longer waiting, or not yet again: HTTP says which.
      if (error === undefined) return
    }
    if (surface === 'socket') {
      const ack = (await emit(url, event.name, { ...event.id, ...body })) as { ok?: true; code?: string }
      if (ack.ok || ack.code?.endsWith('_ANSWERED')) return
      throw new Fatal(`a socket refused the answer to ${JSON.stringify(asking)}: ${JSON.stringify(ack)}`)
    }
    const response = await fetch(`${url}/api${path}`, {
      method: 'POST',
      headers: jsonHeaders,
      body: JSON.stringify(body)
    })
    if (response.status !== 200 && response.status !== 409)
      throw new Fatal(`HTTP refused the answer to ${JSON.stringify(asking)}: ${await response.text()}`)
  })
}

function toAnswer(asking: Asking) {
  if (asking.type === 'tool.approval.request') {
    const { approvalId, args } = asking
    const { accept, choice } = answerTo((args as { key: string }).key)
    return {
      path: `/approvals/${approvalId}`,
      event: { name: 'approval.answer', id: { approvalId } },
      body: { approved: accept, ...(accept && { args: { ...(args as object), by: choice } }) }
    }
  }
  const { inputId, kind, message, toolCallId } = asking
  const callId = kind === 'tool' ? toolCallId! : /for (.*)\?/.exec(message!)![1]!
  const { accept, choice } = answerTo(callId)
  const content = kind === 'tool' ? `picked ${choice}` : { choice }
  return {
    path: `/inputs/${inputId}`,
    event: { name: 'input.answer', id: { inputId } },
    body: accept ? { action: 'accept', content } : { action: 'decline' }
  }
}

/** Calls an operation of A2A. */
export async function callA2a(
  url: string,
  method: string,
  params: object
): Promise<{ result?: unknown; error?: unknown }> {
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: jsonHeaders,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  })
  return (await response.json()) as { result?: unknown; error?: unknown }
}

/** Sends an event on a new socket; resolves with its acknowledgement. */
export async function emit(url: string, event: string, payload: object): Promise<unknown> {
  const socket = io(url, { transports: ['websocket'], forceNew: true, reconnection: false })
  try {
    return await new Promise((resolve, reject) => {
      socket.once('connect_error', reject)
      socket.once('disconnect', (reason) => reject(new Error(reason)))
      socket.emit(event, payload, resolve)
    })
  } finally {
    socket.disconnect()
  }
}
