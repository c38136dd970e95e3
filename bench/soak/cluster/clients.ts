import { randomUUID } from 'node:crypto'
import { callA2a, emit } from '../agents/clients.ts'
import { Fatal } from '../agents/service.ts'
import type { Reach } from './reach.ts'
import { WORKFLOWS, type RunnableName } from './runnables.ts'

/** The surfaces over which runs are started. */
export const SURFACES = ['http', 'http', 'socket', 'a2a'] as const
export type Surface = (typeof SURFACES)[number]

/** An acknowledged run. */
export interface Acknowledged {
  readonly runId: string
  /** The node that acknowledged it. */
  readonly url: string
}

// Milliseconds after which a client gives up an attempt, and makes another.
const PATIENCE = 5_000
const headers = { 'content-type': 'application/json' }

/** Starts a run that continues without its client. Over HTTP it is one run, however often the start is repeated. */
export function startRun(reach: Reach, name: RunnableName, surface: Surface): Promise<Acknowledged> {
  const kind = WORKFLOWS.includes(name) ? 'workflow' : 'agent'
  const key = randomUUID()
  return reach.persist(async (url) => {
    const runId = await within(start(url, kind, name, kind === 'agent' ? surface : 'http', key))
    return { runId, url }
  })
}

/** Approves what a run asks for; a later answer changes nothing. */
export async function approve(reach: Reach, approvalId: string): Promise<void> {
  await reach.persist(async (url) => {
    const response = await fetch(`${url}/api/approvals/${approvalId}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ approved: true }),
      signal: AbortSignal.timeout(PATIENCE)
    })
    const text = await response.text()
    if (response.status !== 409) requireStatus(response, 200, text)
  })
}

async function start(
  url: string,
  kind: string,
  name: string,
  surface: Surface,
  key: string
): Promise<string> {
  if (surface === 'a2a') {
    const message = {
      role: 'user',
      messageId: key,
      metadata: { agentName: name },
      parts: [{ kind: 'text', text: 'Go.' }]
    }
    const { result, error } = await callA2a(url, 'message/send', {
      message,
      configuration: { blocking: false }
    })
    if (result === undefined) throw new Error(JSON.stringify(error))
    return (result as { id: string }).id
  }
  if (surface === 'socket') {
    const event = { name, input: 'Go.', onDisconnect: 'continue' }
    const ack = (await emit(url, `${kind}.run`, event)) as { runId?: string; code?: string }
    if (ack.runId === undefined) throw new Error(JSON.stringify(ack))
    return ack.runId
  }
  const response = await fetch(`${url}/api/${kind}s/${name}/run`, {
    method: 'POST',
    headers: { ...headers, prefer: 'respond-async', 'idempotency-key': key },
    body: JSON.stringify({ input: 'Go.' }),
    signal: AbortSignal.timeout(PATIENCE)
  })
  const text = await response.text()
  requireStatus(response, 202, text)
  return (JSON.parse(text) as { runId: string }).runId
}

/** A node may refuse what it cannot do now, and says when to try again. */
function requireStatus(response: Response, status: number, text: string): void {
  if (response.status === status) return
  if (response.status === 503 && response.headers.has('retry-after')) throw new Error(text)
  throw new Fatal(`${response.url}: ${response.status} ${text}`)
}

async function within<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer')), PATIENCE)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
